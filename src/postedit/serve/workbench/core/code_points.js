/**
 * Converts offsets in one text between code points, which the server counts, and UTF-16 units, which JavaScript counts.
 * A text without characters beyond U+FFFF needs no table.
 */
export class OffsetMap {
  /** @param {string} text */
  constructor(text) {
    this.length = text.length;
    if (!/[\ud800-\udfff]/.test(text)) return;
    /** @type {number[]} UTF-16 offset of each code point, and of the end. */
    this.starts = [];
    let offset = 0;
    for (const character of text) {
      this.starts.push(offset);
      offset += character.length;
    }
    this.starts.push(offset);
  }

  /** Return the UTF-16 offset of a code point offset; beyond the end of the text, its end. @param {number} point */
  toUtf16(point) {
    if (!this.starts) return Math.min(point, this.length);
    return this.starts[Math.min(point, this.starts.length - 1)];
  }

  /** Return the code point offset of a UTF-16 offset; within a pair, that of the pair. @param {number} offset */
  toPoint(offset) {
    if (!this.starts) return Math.min(offset, this.length);
    let low = 0, high = this.starts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.starts[middle] <= offset) low = middle;
      else high = middle - 1;
    }
    return low;
  }
}

/** Return the number of code points. @param {string} text */
export const countPoints = (text) => new OffsetMap(text).toPoint(text.length);
