//! Names inside addresses.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// What may stand in a segment or a query as it is.
const OTHERS: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~');
/// Longer lists are split over several requests; servers and proxies refuse addresses beyond some 8 kB.
const LONGEST: usize = 4_000;

/// A name as one segment of a path.
pub(super) fn segment(name: &str) -> String {
    utf8_percent_encode(name, OTHERS).to_string()
}

/// Names joined by commas, as a query takes them, in as many lists as their length takes.
pub(super) fn lists<'a>(names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut lists: Vec<String> = Vec::new();
    for name in names {
        let name = segment(name);
        match lists.last_mut() {
            Some(list) if list.len() + name.len() < LONGEST => {
                list.push(',');
                list.push_str(&name);
            }
            _ => lists.push(name),
        }
    }
    lists
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_leave_its_segment() {
        assert_eq!(segment("../jobs?x=1&y#z"), "..%2Fjobs%3Fx%3D1%26y%23z");
    }

    #[test]
    fn long_lists_are_split_and_lose_nothing() {
        let names: Vec<String> = (0..1000).map(|n| format!("{n}.numRecordsIn")).collect();
        let lists = lists(names.iter().map(String::as_str));
        assert!(lists.len() > 1 && lists.iter().all(|list| list.len() <= LONGEST));
        assert_eq!(lists.join(","), names.join(","));
    }
}
