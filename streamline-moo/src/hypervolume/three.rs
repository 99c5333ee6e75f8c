//! Three objectives: a sweep along the third, over the staircase of the first two (N. Beume, C. Fonseca, M. López-Ibáñez,
//! L. Paquete, J. Vahrenhold: *On the complexity of computing the hypervolume indicator*, IEEE TEVC 13(5), 2009).

use crate::sorting::key;

/// The volume between `points`, all negative, and the origin.
pub(super) fn sweep(mut points: Vec<[f64; 3]>) -> f64 {
    points.sort_unstable_by_key(|p| key(p[2]));
    sweep_sorted(&points, &mut Stairs::default())
}

/// As [`sweep`], of points that rise in the third objective.
pub(super) fn sweep_sorted(points: &[[f64; 3]], stairs: &mut Stairs) -> f64 {
    stairs.clear();
    let (mut volume, mut area, mut height) = (0.0, 0.0, 0.0);
    for &[x, y, z] in points {
        let added = stairs.add(x, y);
        if added > 0.0 {
            volume += area * (z - height);
            height = z;
            area += added;
        }
    }
    volume - area * height
}

/// Points of the plane of which none dominates another, towards the origin: x rises, y falls.
#[derive(Debug, Default)]
pub(super) struct Stairs {
    steps: Vec<(f64, f64)>,
}

impl Stairs {
    pub(super) fn clear(&mut self) {
        self.steps.clear();
    }

    /// How far to the right and up points can add area, if none is left of `x` or below `y`.
    #[inline]
    pub(super) fn bounds(&self, x: f64, y: f64) -> (f64, f64) {
        let right = self
            .steps
            .last()
            .filter(|step| step.1 <= y)
            .map_or(0.0, |step| step.0);
        let top = self
            .steps
            .first()
            .filter(|step| step.0 <= x)
            .map_or(0.0, |step| step.1);
        (right, top)
    }

    /// Adds a point and gives the area that it adds; 0 if it is dominated.
    #[inline]
    pub(super) fn add(&mut self, x: f64, y: f64) -> f64 {
        let begin = self.steps.partition_point(|step| step.0 < x);
        // The height of the stairs to the left of x.
        let mut top = begin.checked_sub(1).map_or(0.0, |i| self.steps[i].1);
        if top <= y {
            return 0.0;
        }
        let (mut end, mut left, mut area) = (begin, x, 0.0);
        while let Some(&(next_x, next_y)) = self.steps.get(end) {
            area += (next_x - left) * (top - y);
            (left, top) = (next_x, next_y);
            if next_y < y {
                top = y;
                break;
            }
            end += 1;
        }
        area -= left * (top - y);
        if begin == end {
            self.steps.insert(begin, (x, y));
        } else {
            self.steps[begin] = (x, y);
            self.steps.drain(begin + 1..end);
        }
        area
    }
}
