"""N-gram LM modified Kneser-Ney."""
from typing import Any, NamedTuple
import numpy as np
from postedit.compiled import compiled
from postedit.phrase.pair_table import EMPTY, find, mixed

class NgramModel(NamedTuple):
    keys: Any   # Int64
    logs: Any   # Float32 log prob
    backs: Any  # Float32 log backoff
    order: int
    unknown: float

@compiled
def extend(h: Any, word: Any) -> Any:
    return np.int64(mixed(np.int64(h) * np.int64(31) + np.int64(word) + np.int64(7)) >> np.uint64(1))

@compiled
def log_prob(lm: Any, context: Any, size: Any, word: Any) -> float:
    """context[size-1] is the nearest word."""
    h = extend(0, word)
    s = find(lm.keys, h)
    if lm.keys[s] != h:
        found = lm.unknown; matched = 0
    else:
        found = lm.logs[s]; matched = 1
        for k in range(size):
            h = extend(h, context[size-1-k])
            s = find(lm.keys, h)
            if lm.keys[s] != h: break
            found = lm.logs[s]; matched += 1
    # backoff of contexts of length matched.. size
    h = 0
    for k in range(size):
        h = extend(h, context[size-1-k])
        if k + 1 >= max(matched, 1):
            s = find(lm.keys, h)
            if lm.keys[s] != h: break
            found += lm.backs[s]
    return found

@compiled
def _insert(keys: Any, hashes: Any) -> None:
    for h in hashes:
        keys[find(keys, h)] = h

@compiled
def _store(keys: Any, values: Any, hashes: Any, new: Any) -> None:
    for i in range(hashes.size):
        values[find(keys, hashes[i])] = new[i]

@compiled
def _hashes(tokens: Any, at: Any, k: int) -> Any:
    out = np.empty(at.size, np.int64)
    for i in range(at.size):
        h = np.int64(0)
        for q in range(k - 1, -1, -1): h = extend(h, tokens[at[i] + q])
        out[i] = h
    return out

def train(tokens, ends, order=5, bos=1, words=None, least=(1,1,1,1,1,1)):
    """tokens with BOS and EOS."""
    n = tokens.size
    room = np.zeros(n, np.int64)
    room[:] = np.repeat(ends[1:], np.diff(ends)) - np.arange(n)
    ids = []; firsts = []; raws = []
    prev = tokens.astype(np.int64)
    for k in range(1, order+1):
        ok = np.flatnonzero(room >= k)
        key = prev[ok] if k == 1 else ids[-1][ok] * (int(tokens.max())+1) + tokens[ok + k - 1]
        u, first, inv, cnt = np.unique(key, return_index=True, return_inverse=True, return_counts=True)
        arr = np.full(n + 1, -1, np.int64); arr[ok] = inv
        ids.append(arr); firsts.append(ok[first]); raws.append(cnt)
    adj = []
    for k in range(1, order+1):
        if k == order: c = raws[-1].astype(float)
        else:
            at = firsts[k]  # first positions of (k+1)-grams
            c = np.bincount(ids[k-1][at+1], minlength=len(raws[k-1])).astype(float)
            b = tokens[firsts[k-1]] == bos
            c[b] = raws[k-1][b]
        adj.append(c)
    # unigrams
    hashes=[];logs=[];backs=[]
    probs_prev=None
    gammas=[]
    for k in range(1, order+1):
        c = adj[k-1]; at = firsts[k-1]
        use = np.ones(len(c), bool)
        if k == 1: use = tokens[at] != bos
        n1,n2,n3,n4 = [max(1,(c[use]==i).sum()) for i in (1,2,3,4)]
        Y = n1/(n1+2*n2); D = np.array([0, 1-2*Y*n2/n1, 2-3*Y*n3/n2, 3-4*Y*n4/n3]).clip(0, None)
        D[1:] = np.where(D[1:]<=0, [.5,1,1.5], D[1:])
        d = D[np.minimum(c, 3).astype(int)]
        if k == 1:
            total = c[use].sum(); kept = np.where(use, (c-d).clip(0)/total, 0)
            gamma = 1 - kept.sum(); V = use.sum() + 1
            p = kept + gamma/V; unknown = np.log(gamma/V)
            p[~use] = 1e-10
            probs = p
        else:
            h = ids[k-2][at]; lower = ids[k-2][at+1]
            total = np.bincount(h, c, minlength=len(adj[k-2]))
            keep = c >= least[k-1]
            part = np.where(keep, (c-d).clip(0), 0)/total[h]
            g = 1 - np.bincount(h, part, minlength=len(adj[k-2]))
            gammas.append(np.where(total>0, g, 1.0))
            probs = part + g[h]*probs_prev[lower]
        probs_prev = probs
        hashes.append(_hashes(tokens, at, k)); logs.append(np.log(probs))
    gammas.append(np.ones(len(adj[-1])))
    total = sum(map(len, hashes)); size = 16
    while size < 2*total: size *= 2
    keys = np.full(size, EMPTY, np.int64); L = np.zeros(size, np.float32); B = np.zeros(size, np.float32)
    for h, l, g in zip(hashes, logs, gammas):
        _insert(keys, h); _store(keys, L, h, l.astype(np.float32)); _store(keys, B, h, np.log(np.maximum(g,1e-10)).astype(np.float32))
    return NgramModel(keys, L, B, order, float(unknown))
