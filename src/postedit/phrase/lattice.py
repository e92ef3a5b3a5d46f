from typing import Any
import numpy as np
from postedit.compiled import compiled
from postedit.phrase.ngram_model import log_prob, extend

@compiled
def search(x: Any, first: Any, core: Any, score: Any, words: Any, lm: Any, lm_weight: float, stack: int, k: int) -> Any:
    """Return the k best paths.

    core: edges [C,4] start, end, offset in words, length; sorted by start; first[s] offsets. score: edge scores.
    """
    n = x.size
    order = lm.order
    # hypotheses
    cap = 4096
    prev = np.empty(cap, np.int32); edge = np.empty(cap, np.int32); total = np.empty(cap, np.float64)
    lms = np.empty(cap, np.float64)
    state = np.empty((cap, order-1), np.int32); size = np.empty(cap, np.int8); text = np.empty(cap, np.int64)
    ins = np.empty(cap, np.bool_); link = np.full(cap, -1, np.int32)  # chain within position
    heads = np.full(n + 1, -1, np.int32)
    count = 1
    prev[0] = -1; edge[0] = -1; total[0] = 0; lms[0] = 0; size[0] = 1; state[0, 0] = x[0]; text[0] = 0; ins[0] = False
    heads[1] = 0
    ctx = np.empty(order + 32, np.int32)
    for s in range(1, n):
        # collect hyps at s
        for phase in range(2):
            m = 0; h = heads[s]
            while h >= 0: m += 1; h = link[h]
            hyps = np.empty(m, np.int32); h = heads[s]
            for q in range(m): hyps[q] = h; h = link[h]
            if m > stack:
                hyps = hyps[np.argsort(-total[hyps])[:stack]]
            for h in hyps:
                if phase == 0 and ins[h]: continue
                for c in range(first[s] - (1 if phase == 1 else 0), first[s+1]):
                    keep = c < first[s]
                    if keep: end, off, length = s + 1, 0, 1
                    else:
                        end, off, length = core[c, 1], core[c, 2], core[c, 3]
                        if (end == s) != (phase == 0): continue
                    # lm
                    sz = size[h]
                    for q in range(sz): ctx[q] = state[h, q]
                    t = text[h]; l = 0.0
                    for j in range(length):
                        w = x[s] if keep else words[off + j]
                        l += log_prob(lm, ctx[max(0, sz - order + 1):sz], min(sz, order - 1), w)
                        ctx[sz] = w; sz += 1
                        t = extend(t, w)
                    value = total[h] + lm_weight*l + (0.0 if keep else score[c])
                    low = max(0, sz - order + 1); ns = sz - low
                    is_ins = phase == 0
                    # recombine
                    same = 0; worst = -1; done = False
                    g = heads[end]
                    while g >= 0:
                        if size[g] == ns and ins[g] == is_ins:
                            eq = True
                            for q in range(ns):
                                if state[g, q] != ctx[low + q]: eq = False; break
                            if eq:
                                if text[g] == t:
                                    if value > total[g]:
                                        prev[g] = h; edge[g] = -1 if keep else c; total[g] = value; lms[g] = lms[h] + l
                                    done = True; break
                                same += 1
                                if worst < 0 or total[g] < total[worst]: worst = g
                        g = link[g]
                    if done: continue
                    if same >= k:
                        if value <= total[worst]: continue
                        g = worst
                    else:
                        if count == cap:
                            cap *= 2
                            prev = _more(prev); edge = _more(edge); total = _more(total); lms = _more(lms); size = _more(size)
                            text = _more(text); ins = _more(ins); link = _more(link)
                            bigger = np.empty((cap, order-1), np.int32); bigger[:count] = state; state = bigger
                        g = count; count += 1
                        link[g] = heads[end]; heads[end] = g
                    prev[g] = h; edge[g] = -1 if keep else c; total[g] = value; lms[g] = lms[h] + l
                    size[g] = ns; text[g] = t; ins[g] = is_ins
                    for q in range(ns): state[g, q] = ctx[low + q]
    m = 0; h = heads[n]
    while h >= 0: m += 1; h = link[h]
    hyps = np.empty(m, np.int32); h = heads[n]
    for q in range(m): hyps[q] = h; h = link[h]
    hyps = hyps[np.argsort(-total[hyps], kind="mergesort")][:k]
    paths = np.full((hyps.size, n + 1), -1, np.int32); lengths = np.zeros(hyps.size, np.int64)
    for r in range(hyps.size):
        h = hyps[r]
        while h >= 0:
            if edge[h] >= 0: paths[r, lengths[r]] = edge[h]; lengths[r] += 1
            h = prev[h]
        paths[r, :lengths[r]] = paths[r, :lengths[r]][::-1].copy()
    return paths, lengths, total[hyps], lms[hyps]

@compiled
def _more(a: Any) -> Any:
    out = np.empty(2*a.size, a.dtype); out[:a.size] = a
    return out
