//! Four objectives: points in rising order of the fourth, each with the volume that it adds in the first three (in the manner
//! of A. P. Guerreiro, C. M. Fonseca: *Computing and updating hypervolume contributions in up to four dimensions*, IEEE
//! TEVC 22(3), 2018).

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

    /// Adds a point to the front and gives the volume that it adds.
    fn add(&mut self, point: [f64; 3]) -> f64 {
        let [x, y, z] = point;
        let place = self.front.partition_point(|p| p[2] <= z);
        // What of the rectangle between the point and the origin is still free, from below upwards.
        self.stairs.clear();
        let mut free = x * y;
        for p in &self.front[..place] {
            free -= self.stairs.add(p[0].max(x), p[1].max(y));
            if p[0] <= x && p[1] <= y {
                return 0.0;
            }
        }
        let (mut volume, mut height) = (0.0, z);
        for p in &self.front[place..] {
            let covered = self.stairs.add(p[0].max(x), p[1].max(y));
            if covered > 0.0 {
                volume += free * (p[2] - height);
                height = p[2];
                free -= covered;
                if p[0] <= x && p[1] <= y {
                    free = 0.0;
                    break;
                }
            }
        }
        volume -= free * height;
        self.front.insert(place, point);
        let mut i = 0;
        self.front.retain(|p| {
            i += 1;
            i <= place + 1 || p[0] < x || p[1] < y
        });
        volume
    }
}
