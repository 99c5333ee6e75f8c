//! Who uses the cpu of the TaskManagers.

use std::collections::HashMap;

/// A subtask that runs where nothing else is known of it counts as this busy: it takes a little even when it idles.
const IDLE_SHARE: f64 = 0.01;

/// The weight with which a subtask that is this busy shares in the cpu of its TaskManager.
pub(super) fn weight(busy: Option<f64>) -> f64 {
    busy.unwrap_or(0.0).max(IDLE_SHARE)
}

/// Cores of one operator: of what each of its TaskManagers used, its share by busy time among all subtasks there.
///
/// A JVM does not tell which of its threads used the cpu; busy time is the closest there is. `subtasks` are those of the
/// operator, `used` the cores that each TaskManager used, `weights` the summed [`weight`] of all subtasks on each. `None`
/// where a subtask's place or a TaskManager's use is not known.
pub(super) fn cores(
    subtasks: &[(Option<String>, Option<f64>)],
    used: &HashMap<String, f64>,
    weights: &HashMap<String, f64>,
) -> Option<f64> {
    subtasks
        .iter()
        .map(|(manager, busy)| {
            let manager = manager.as_ref()?;
            let all = weights.get(manager).copied().unwrap_or(0.0);
            let own = weight(*busy);
            Some(used.get(manager)? * own / all.max(own))
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cores_of_a_task_manager_are_shared_by_busy_time() {
        let on = |manager: &str, busy| (Some(manager.to_owned()), Some(busy));
        let used = HashMap::from([("a".to_owned(), 2.0), ("b".to_owned(), 1.0)]);
        let weights = HashMap::from([("a".to_owned(), 0.8), ("b".to_owned(), 0.5)]);
        assert_eq!(cores(&[on("a", 0.4), on("b", 0.5)], &used, &weights), Some(2.0));
        assert_eq!(cores(&[on("c", 0.4)], &used, &weights), None);
        assert_eq!(cores(&[(None, Some(0.4))], &used, &weights), None);
    }
}
