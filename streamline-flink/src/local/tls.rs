//! A key and a certificate for a cluster of our own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{local, run};
use crate::FlinkError;

/// It keeps nothing secret: the key is made for one cluster on this machine and goes with it.
const PASSWORD: &str = "of-a-local-cluster";
const ALIAS: &str = "rest";

/// What puts a REST API behind TLS.
#[derive(Debug)]
pub(super) struct Tls {
    store: PathBuf,
    /// The certificate (PEM), for clients to trust.
    pub certificate: Vec<u8>,
}

impl Tls {
    /// Makes a key and a certificate for 127.0.0.1 in this folder.
    pub(super) fn make(folder: &Path) -> Result<Self, FlinkError> {
        let store = folder.join("rest.p12");
        let pem = folder.join("rest.pem");
        let keytool = |arguments: &[&str]| {
            let mut command = Command::new("keytool");
            command
                .args(arguments)
                .args(["-alias", ALIAS, "-storepass", PASSWORD, "-keystore"]);
            run(command.arg(&store))
        };
        keytool(&[
            "-genkeypair",
            "-keyalg",
            "EC",
            "-dname",
            "CN=127.0.0.1",
            "-ext",
            "san=ip:127.0.0.1",
            "-validity",
            "30",
            "-storetype",
            "PKCS12",
        ])?;
        keytool(&["-exportcert", "-rfc", "-file", &pem.display().to_string()])?;
        let certificate = fs::read(&pem).map_err(|error| local("the certificate", error))?;
        Ok(Self { store, certificate })
    }

    /// Flink's settings for it.
    pub(super) fn settings(&self) -> [(&'static str, String); 6] {
        let store = self.store.display().to_string();
        [
            ("security.ssl.rest.enabled", "true".into()),
            ("security.ssl.rest.keystore", store.clone()),
            ("security.ssl.rest.keystore-password", PASSWORD.into()),
            ("security.ssl.rest.key-password", PASSWORD.into()),
            ("security.ssl.rest.truststore", store),
            ("security.ssl.rest.truststore-password", PASSWORD.into()),
        ]
    }
}
