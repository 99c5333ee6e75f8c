//! Starting a job from its jar.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;

use super::answers::{Submitted, Uploaded};
use super::http::Http;
use super::path;
use crate::FlinkError;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Run<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entry_class: Option<&'a str>,
    pub program_args_list: Vec<String>,
    pub parallelism: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub savepoint_path: Option<&'a str>,
    pub allow_non_restored_state: bool,
    pub flink_configuration: BTreeMap<String, String>,
}

/// Uploads a jar and gives its id on the cluster, fit for a path.
pub(super) fn upload(http: &Http, jar: &Path) -> Result<String, FlinkError> {
    let uploaded: Uploaded = http.upload("/jars/upload", jar)?;
    let name = uploaded.filename.rsplit(['/', '\\']).next().unwrap_or_default();
    Ok(path::segment(name))
}

/// Runs an uploaded jar and gives the id of the job.
pub(super) fn run(http: &Http, jar: &str, body: &Run<'_>) -> Result<String, FlinkError> {
    let submitted: Submitted = http.post_slowly(&format!("/jars/{jar}/run"), body)?;
    Ok(submitted.jobid)
}
