//! Four objectives: points in rising order of the fourth, each with the volume that it adds in the first three (in the manner
//! of A. P. Guerreiro, C. M. Fonseca: *Computing and updating hypervolume contributions in up to four dimensions*, IEEE
//! TEVC 22(3), 2018).

use super::larger;
use super::three::Stairs;
use crate::sorting::key;

/// Memory for volumes in four objectives.
#[derive(Debug, Default)]
pub(super) struct Four {
    /// The points so far that none dominates in three objectives, in rising order of the third.
    front: Vec<[f64; 3]>,
    stairs: Stairs,
}

impl Four {
    /// The volume between `points`, all negative, and the origin. Leaves them sorted by the fourth objective.
    pub(super) fn sweep(&mut self, points: &mut [[f64; 4]]) -> f64 {
        points.sort_unstable_by_key(|p| key(p[3]));
        self.front.clear();
        let mut volume = 0.0;
        for &mut [x, y, z, w] in points {
            volume -= w * self.add([x, y, z]);
        }
        volume
    }

    /// As [`sweep`](Self::sweep), of the points `flat` at the fourth objective `w`, of which none dominates another, and those
    /// of `rising` above it, in this order. Leaves `flat` as it likes.
    pub(super) fn sweep_on(&mut self, flat: &mut Vec<[f64; 3]>, w: f64, rising: &[[f64; 4]]) -> f64 {
        flat.sort_unstable_by_key(|p| key(p[2]));
        let mut volume = -w * super::three::sweep_sorted(flat, &mut self.stairs);
        std::mem::swap(&mut self.front, flat);
        for &[x, y, z, w] in rising {
            volume -= w * self.add([x, y, z]);
        }
        volume
    }

    /// Adds a point to the front and gives the volume that it adds.
    fn add(&mut self, point: [f64; 3]) -> f64 {
        let [x, y, z] = point;
        let place = self.front.partition_point(|p| p[2] <= z);
        // What of the rectangle between the point and the origin is still free, from below upwards. Only what is left of
        // `right` and below `top` can be.
        self.stairs.clear();
        let (mut free, mut right, mut top) = (x * y, 0.0, 0.0);
        // Backwards, since the nearest cut off most.
        for p in self.front[..place].iter().rev() {
            // One branch that is seldom taken, not two that are often.
            if (p[0] < right) & (p[1] < top) {
                free -= self.stairs.add(larger(p[0], x), larger(p[1], y));
                (right, top) = self.stairs.bounds(x, y);
                if right <= x {
                    return 0.0;
                }
            }
        }
        let (mut volume, mut height) = (0.0, z);
        for p in &self.front[place..] {
            if (p[0] < right) & (p[1] < top) {
                let covered = self.stairs.add(larger(p[0], x), larger(p[1], y));
                if covered > 0.0 {
                    volume += free * (p[2] - height);
                    height = p[2];
                    free -= covered;
                    (right, top) = self.stairs.bounds(x, y);
                    if right <= x {
                        free = 0.0;
                        break;
                    }
                }
            }
        }
        volume -= free * height;
        // What the point dominates in three objectives comes after it.
        let dominated = |p: &[f64; 3]| (p[0] >= x) & (p[1] >= y);
        if let Some(first) = self.front[place..].iter().position(dominated) {
            let mut kept = place + first;
            for i in kept + 1..self.front.len() {
                let p = self.front[i];
                self.front[kept] = p;
                kept += usize::from(!dominated(&p));
            }
            self.front.truncate(kept);
        }
        self.front.insert(place, point);
        volume
    }
}
