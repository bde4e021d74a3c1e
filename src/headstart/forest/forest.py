"""The honest forest over several actions."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from headstart.forest.binning import bin_columns, quantile_edges
from headstart.forest.growing import Block, grow_block
from headstart.forest.leaves import leaf_means
from headstart.forest.options import ForestOptions
from headstart.forest.predicting import predict_rows
from headstart.forest.sampling import Limits, Rows
from headstart.forest.tree import NODE, ForestArrays
from headstart.kernels.compile import compiled


class HonestForest:
    def __init__(self, options=ForestOptions(), *, seed, n_threads=1):
        self.options=options; self.seed=seed; self.n_threads=n_threads
        self.n_sorted = 1024
    def fit(self, contexts, actions, outcomes, n_actions):
        contexts = np.ascontiguousarray(contexts, float)
        n, d = contexts.shape
        o = self.options
        columns = np.ascontiguousarray(contexts.T)
        edges = quantile_edges(columns, o.n_bins)
        rows = Rows(columns, bin_columns(columns, edges), edges, np.asarray(actions, np.int64), np.asarray(outcomes, float))
        limits = Limits(n_actions, o.n_group_rows(n), o.n_tree_rows(n), o.n_split_rows(n), o.group_size, o.min_leaf, o.min_node, o.alpha, o.mean_features(d), self.n_sorted)
        n_groups = o.n_trees // o.group_size
        words = np.random.SeedSequence(self.seed).generate_state(4 * n_groups, np.uint64).reshape(n_groups, 4)
        s = limits.n_tree
        step = max(1, 2**15 // s)
        def work(g):
            w = words[g:g+step]
            nt = len(w) * o.group_size
            leaves = nt * max(1, min(limits.n_split, s - limits.n_split))
            block = Block(np.empty(2*leaves, NODE), np.empty((leaves, n_actions)), np.empty((leaves, n_actions)), np.empty(nt, np.int64), np.empty(nt+1, np.int64))
            a, b = compiled(grow_block)(w, rows, limits, block)
            return Block(block.nodes[:a].copy(), block.sums[:b].copy(), block.counts[:b].copy(), block.roots, block.leaf_starts)
        with ThreadPoolExecutor(self.n_threads) as pool:
            blocks = list(pool.map(work, range(0, n_groups, step)))
        no = nl = 0
        roots = []; starts=[]
        for b in blocks:
            b.nodes["child"] += np.where(b.nodes["feature"] < 0, nl, no).astype(np.int32)
            roots.append(b.roots + no); starts.append(b.leaf_starts[:-1] + nl)
            no += len(b.nodes); nl += len(b.sums)
        starts.append(np.array([nl]))
        sums = np.concatenate([b.sums for b in blocks]); counts=np.concatenate([b.counts for b in blocks])
        self.arrays = ForestArrays(np.concatenate([b.nodes for b in blocks]), np.concatenate(roots), np.concatenate(starts), sums, counts, leaf_means(sums, counts))
        return self
    def predict(self, contexts):
        contexts = np.ascontiguousarray(contexts, float)
        out = np.empty((len(contexts), self.arrays.means.shape[1]))
        compiled(predict_rows)(self.arrays, contexts, 0, len(contexts), out)
        return out
