//! What is on one TaskManager.

/// Resources besides slots: cpu, memory, network memory.
pub(crate) const DIMENSIONS: usize = 3;

/// What is on one TaskManager.
#[derive(Debug, Clone, Default)]
pub(crate) struct Load {
    pub(crate) used: [u64; DIMENSIONS],
    pub(crate) slots: u32,
    /// Operators with at least one instance here.
    pub(crate) operators: Vec<Resident>,
    /// Items that are here, in no order.
    pub(crate) items: Vec<u32>,
}

/// How many instances of one operator are on a TaskManager.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Resident {
    pub(crate) operator: u32,
    pub(crate) group: u32,
    pub(crate) count: u32,
}

impl Load {
    pub(crate) fn count(&self, operator: u32) -> u32 {
        self.operators
            .iter()
            .find(|resident| resident.operator == operator)
            .map_or(0, |resident| resident.count)
    }

    /// The further slots that one more instance of the operator takes: 0 or 1.
    ///
    /// A group takes as many slots as its most frequent operator has instances here.
    pub(crate) fn further_slots(&self, operator: u32, group: u32) -> u32 {
        let (mut own, mut widest) = (0, 0);
        for resident in &self.operators {
            if resident.group == group {
                widest = resident.count.max(widest);
                if resident.operator == operator {
                    own = resident.count;
                }
            }
        }
        u32::from(own == widest)
    }

    pub(crate) fn add(&mut self, item: u32, size: &[u64; DIMENSIONS], operator: u32, group: u32) {
        self.slots += self.further_slots(operator, group);
        for d in 0..DIMENSIONS {
            self.used[d] += size[d];
        }
        self.items.push(item);
        match self
            .operators
            .iter_mut()
            .find(|resident| resident.operator == operator)
        {
            Some(resident) => resident.count += 1,
            None => self.operators.push(Resident {
                operator,
                group,
                count: 1,
            }),
        }
    }

    pub(crate) fn remove(&mut self, item: u32, size: &[u64; DIMENSIONS], operator: u32, group: u32) {
        let Some(at) = self.items.iter().position(|&here| here == item) else {
            debug_assert!(false, "only what is here can leave");
            return;
        };
        self.items.swap_remove(at);
        for d in 0..DIMENSIONS {
            self.used[d] -= size[d];
        }
        if let Some(at) = self
            .operators
            .iter()
            .position(|resident| resident.operator == operator)
        {
            self.operators[at].count -= 1;
            if self.operators[at].count == 0 {
                self.operators.swap_remove(at);
            }
        }
        // Without it the next one would take a slot exactly if this one gave one back.
        self.slots -= self.further_slots(operator, group);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_takes_as_many_slots_as_its_most_frequent_operator_has_instances() {
        let mut bin = Load::default();
        let mut slots = Vec::new();
        for (item, operator, group) in [(0, 0, 0), (1, 1, 0), (2, 1, 0), (3, 2, 1), (4, 0, 0), (5, 0, 0)] {
            bin.add(item, &[1; 3], operator, group);
            slots.push(bin.slots);
        }
        assert_eq!(slots, [1, 1, 2, 3, 3, 4]);
        for (item, operator, group) in [(1, 1, 0), (2, 1, 0), (0, 0, 0), (3, 2, 1)] {
            bin.remove(item, &[1; 3], operator, group);
            slots.push(bin.slots);
        }
        assert_eq!(slots[6..], [4, 4, 3, 2]);
        assert_eq!((bin.used, bin.items.len()), ([2; 3], 2));
    }
}
