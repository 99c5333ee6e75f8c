use serde::Deserialize;

use super::{Calibration, Headroom, Pending, PredictError, Stretch, VecDeque};

/// The most steps that capacity is to suffice over.
pub(super) const MAX_STEPS: usize = 1_000;

/// What a calibration is written as, before it is checked.
#[derive(Deserialize)]
pub(super) struct Parts {
    steps: usize,
    pending: VecDeque<Pending>,
    headroom: Headroom,
    stretch: Stretch,
}

impl TryFrom<Parts> for Calibration {
    type Error = PredictError;

    fn try_from(parts: Parts) -> Result<Self, PredictError> {
        let Parts {
            steps,
            pending,
            headroom,
            stretch,
        } = parts;
        let in_order = pending
            .iter()
            .zip(pending.iter().skip(1))
            .all(|(earlier, later)| earlier.origin_ms < later.origin_ms);
        let is_sound = (1..=MAX_STEPS).contains(&steps)
            && pending.len() <= steps + 1
            && in_order
            && pending.iter().all(|pending| pending.is_sound(steps))
            && headroom.is_sound()
            && stretch.is_sound();
        if !is_sound {
            return Err(PredictError::Unsound {
                name: "calibration".into(),
                reason: "a part is not finite, out of range or out of order".into(),
            });
        }
        Ok(Self {
            steps,
            pending,
            headroom,
            stretch,
        })
    }
}
