//! A tree over the TaskManagers that finds the first with room.

use crate::load::DIMENSIONS;

/// A segment tree of the most that is free of each resource.
#[derive(Debug, Clone)]
pub(crate) struct FreeRoom {
    /// The root is node 1, the children of `n` are `2n` and `2n + 1`.
    nodes: Vec<[u64; DIMENSIONS]>,
    leaves: usize,
    count: usize,
}

impl FreeRoom {
    /// What is free of each TaskManager; one without slots has nothing.
    pub(crate) fn new(free: impl Iterator<Item = ([u64; DIMENSIONS], u32)>) -> Self {
        let free: Vec<_> = free
            .map(|(free, slots)| if slots == 0 { [0; DIMENSIONS] } else { free })
            .collect();
        let leaves = free.len().next_power_of_two();
        let mut room = Self {
            nodes: vec![[0; DIMENSIONS]; 2 * leaves],
            leaves,
            count: free.len(),
        };
        room.nodes[leaves..leaves + free.len()].copy_from_slice(&free);
        for node in (1..leaves).rev() {
            room.refresh(node);
        }
        room
    }

    fn refresh(&mut self, node: usize) {
        for d in 0..DIMENSIONS {
            self.nodes[node][d] = self.nodes[2 * node][d].max(self.nodes[2 * node + 1][d]);
        }
    }

    pub(crate) fn set(&mut self, manager: usize, free: [u64; DIMENSIONS]) {
        let mut node = self.leaves + manager;
        self.nodes[node] = free;
        while node > 1 {
            node /= 2;
            self.refresh(node);
        }
    }

    /// The most that any TaskManager has free of each resource.
    pub(crate) fn most(&self) -> [u64; DIMENSIONS] {
        self.nodes.get(1).copied().unwrap_or_default()
    }

    /// The first TaskManager with so much free that is accepted.
    pub(crate) fn find(&self, size: &[u64; DIMENSIONS], accepts: impl Fn(usize) -> bool) -> Option<usize> {
        let mut open = vec![1];
        while let Some(node) = open.pop() {
            let has = self
                .nodes
                .get(node)
                .is_some_and(|free| (0..DIMENSIONS).all(|d| size[d] <= free[d]));
            if !has {
                continue;
            }
            if node < self.leaves {
                open.push(2 * node + 1);
                open.push(2 * node);
            } else if node - self.leaves < self.count && accepts(node - self.leaves) {
                return Some(node - self.leaves);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_with_room_is_found() {
        let mut room =
            FreeRoom::new([([1, 9, 9], 1), ([5, 5, 5], 1), ([9, 9, 9], 0), ([9, 9, 9], 1)].into_iter());
        assert_eq!(room.find(&[1, 1, 1], |_| true), Some(0));
        assert_eq!(room.find(&[2, 6, 1], |_| true), Some(3));
        assert_eq!(room.find(&[2, 1, 1], |manager| manager != 1), Some(3));
        room.set(3, [0; 3]);
        assert_eq!(room.find(&[6, 1, 1], |_| true), None);
        assert_eq!(room.most(), [5, 9, 9]);
        assert_eq!(FreeRoom::new(std::iter::empty()).find(&[0; 3], |_| true), None);
    }
}
