//! A combination as bytes: what it learnt itself and, after that, the members' bytes.

use serde::{Deserialize, Serialize};

use super::{Combination, Learnt};
use crate::{PredictError, WorkloadPredictor, bytes};

#[derive(Serialize, Deserialize)]
struct Header {
    horizon: usize,
    learnt: Learnt,
    members: Vec<Member>,
}

#[derive(Serialize, Deserialize)]
struct Member {
    name: String,
    /// How many bytes there are of it; none if it has not learnt anything.
    length: Option<usize>,
}

pub(super) fn to_bytes(combination: &Combination) -> Result<Vec<u8>, PredictError> {
    if combination.learnt.weights.is_empty() {
        return Err(PredictError::NotFitted {
            name: combination.name().into(),
        });
    }
    let mut all = Vec::new();
    let mut members = Vec::with_capacity(combination.members.len());
    for member in &combination.members {
        let length = match member.to_bytes() {
            Ok(bytes) => {
                all.extend_from_slice(&bytes);
                Some(bytes.len())
            }
            Err(PredictError::NotFitted { .. }) => None,
            Err(error) => return Err(error),
        };
        members.push(Member {
            name: member.name().into(),
            length,
        });
    }
    let header = Header {
        horizon: combination.horizon,
        learnt: combination.learnt.clone(),
        members,
    };
    bytes::with_header(combination.name(), &header, all)
}

/// Where one of the members refuses, those that had learnt something before are put back.
pub(super) fn restore(combination: &mut Combination, bytes: &[u8]) -> Result<(), PredictError> {
    let unsound = |reason: String| PredictError::Unsound {
        name: "combination".into(),
        reason,
    };
    let (header, mut rest) = bytes::split_header::<Header>(bytes).map_err(unsound)?;
    check(combination, &header).map_err(|reason| unsound(reason.into()))?;
    let mut parts = Vec::with_capacity(header.members.len());
    for member in &header.members {
        let length = member.length.unwrap_or(0);
        let (part, others) = rest
            .split_at_checked(length)
            .ok_or_else(|| unsound(format!("the bytes of its `{}` are cut short", member.name)))?;
        parts.push(member.length.map(|_| part));
        rest = others;
    }
    if !rest.is_empty() {
        return Err(unsound("something follows it".into()));
    }
    let before: Vec<_> = combination
        .members
        .iter()
        .map(|member| member.to_bytes())
        .collect();
    for (index, part) in parts.into_iter().enumerate() {
        let Some(part) = part else { continue };
        if let Err(error) = combination.members[index].restore(part) {
            for (member, before) in combination.members.iter_mut().zip(before).take(index) {
                if let Ok(before) = before {
                    member.restore(&before)?;
                }
            }
            return Err(error);
        }
    }
    combination.learnt = header.learnt;
    Ok(())
}

fn check(combination: &Combination, header: &Header) -> Result<(), &'static str> {
    let names = combination.members.iter().map(|member| member.name());
    if !names.eq(header.members.iter().map(|member| member.name.as_str())) {
        return Err("its members are others");
    }
    if header.horizon != combination.horizon {
        return Err("its horizon is another");
    }
    let count = combination.members.len();
    let sound = |values: &[f64]| values.iter().all(|value| value.is_finite() && *value >= 0.0);
    let Learnt { errors, weights, .. } = &header.learnt;
    let is_sound = errors.len() == count
        && errors
            .iter()
            .flatten()
            .all(|errors| errors.len() == header.horizon && sound(errors))
        && weights.len() == header.horizon
        && weights
            .iter()
            .all(|weights| weights.len() == count && sound(weights));
    is_sound
        .then_some(())
        .ok_or("its errors or weights do not fit, or are not finite")
}
