"""Candidate edits of one mt, with evidence from index."""
from typing import Any, NamedTuple
import numpy as np
from postedit.compiled import compiled
from postedit.phrase.pair_table import mixed
from postedit.phrase.suffix_array import narrowed

LEN = 7

class Index(NamedTuple):
    mt: Any; mt_sent: Any; mt_ends: Any
    pe: Any; pe_ends: Any
    links: Any      # pe position -> mt position in sentence
    lo: Any; hi: Any   # mt position -> pe position in sentence (first, last), -1
    src_of: Any
    order: Any; first: Any  # first[word] start in order

@compiled
def inverse(mt_ends: Any, pe_ends: Any, links: Any, size: int) -> Any:
    lo = np.full(size, -1, np.int16); hi = np.full(size, -1, np.int16)
    sent = np.empty(size, np.int32)
    for row in range(mt_ends.size-1):
        sent[mt_ends[row]:mt_ends[row+1]] = row
        for j in range(pe_ends[row+1]-pe_ends[row]):
            i = links[pe_ends[row]+j]
            if i >= 0:
                at = mt_ends[row]+i
                if lo[at] < 0: lo[at] = j
                hi[at] = j
    return lo, hi, sent

NF = 12
MAXC = 4096

@compiled
def candidates(x: Any, xs: Any, ix: Any, skip: int, cap: int) -> Any:
    """x words with BOS/EOS; xs aligned source words. Returns cores (start,end,pe_pos,len) and features."""
    n = x.size
    core = np.empty((MAXC, 4), np.int64)   # start, end, pe position, pe length
    feats = np.zeros((MAXC, NF), np.float64)
    hashes = np.zeros(MAXC, np.uint64)
    count = 0
    slots = np.full(4*MAXC, -1, np.int32)
    seen = np.empty(MAXC, np.int64)   # cands in this context
    cnt = np.zeros(MAXC, np.int64)
    agr = np.zeros(MAXC, np.int64)
    keptagree = 0
    for s in range(n):
        low, high = ix.first[x[s]], ix.first[x[s]+1]
        for L in range(1, LEN+1):
            if s + L > n: break
            if L > 1: low, high = narrowed(ix.mt, ix.order, low, high, L-1, x[s+L-1])
            if high <= low: break
            total = 0; kept = 0; keptsrc = 0; totsrc = 0; k = 0
            size = high - low
            take = min(size, cap)
            for t in range(take):
                at = ix.order[low + (t*size)//take]
                row = ix.mt_sent[at]
                if row == skip: continue
                if at + L > ix.mt_ends[row+1]: continue
                total += 1
                same = True
                for q in range(L):
                    if ix.src_of[at+q] != xs[s+q]:
                        same = False; break
                if same: totsrc += 1
                a, b = 1 << 20, -1
                for q in range(L):
                    if ix.lo[at+q] >= 0:
                        a = min(a, ix.lo[at+q]); b = max(b, ix.hi[at+q])
                if b < 0: continue
                base = at - ix.mt_ends[row]
                ok = True
                for j in range(a, b+1):
                    i = ix.links[ix.pe_ends[row]+j]
                    if i >= 0 and (i < base or i >= base + L): ok = False; break
                if not ok or b - a + 1 > LEN + 3: continue
                p = ix.pe_ends[row] + a; m = b - a + 1
                pre = 0
                while pre < L and pre < m and ix.pe[p+pre] == x[s+pre]: pre += 1
                if pre == L and m == L:
                    kept += 1
                    if same: keptsrc += 1
                    continue
                suf = 0
                while suf < L - pre and suf < m - pre and ix.pe[p+m-1-suf] == x[s+L-1-suf]: suf += 1
                cs, ce, cp, cm = s+pre, s+L-suf, p+pre, m-pre-suf
                h = mixed(cs*1000+ce)
                for q in range(cm): h = mixed(h ^ np.uint64(ix.pe[cp+q]+1)*np.uint64(0x9E3779B97F4A7C15))
                slot = np.int64(h & np.uint64(slots.size-1))
                while slots[slot] >= 0 and hashes[slots[slot]] != h: slot = (slot+1) & (slots.size-1)
                c = slots[slot]
                if c < 0:
                    if count == MAXC: continue
                    c = count; count += 1; slots[slot] = c; hashes[c] = h
                    core[c,0]=cs; core[c,1]=ce; core[c,2]=cp; core[c,3]=cm
                    feats[c,3] = 99
                if cnt[c] == 0: seen[k] = c; k += 1
                cnt[c] += 1
                if same: agr[c] += 1
            for q in range(k):
                c = seen[q]
                v = cnt[c]; ctx = L - (core[c,1]-core[c,0])
                odds = np.log((v - 0.5) / (total - v + 1.0))
                if feats[c,0] == 0 or odds > feats[c,1]: feats[c,1] = odds   # best odds
                feats[c,0] += 1
                # longest context
                if L > feats[c,2] or (L == feats[c,2] and odds > feats[c,4]):
                    feats[c,2] = L; feats[c,4] = odds; feats[c,5] = np.log(v)
                    # source agreement at longest
                    feats[c,6] = np.log((agr[c]+0.5)/(totsrc-agr[c]+1.0)); feats[c,10] = totsrc
                    feats[c,11] = kept
                if L < feats[c,3]:
                    feats[c,3] = L; feats[c,7] = odds; feats[c,8] = np.log(v); feats[c,9] = total
                cnt[c] = 0; agr[c] = 0
    return core[:count].copy(), feats[:count].copy()
