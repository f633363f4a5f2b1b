//! Who vouches for the checkpoint: the log's keys, and the witnesses.

use transparency_log::{Algorithm, Error, SignedCheckpoint, VerifierKey};

use super::{Cosigned, Covered, Header, Problem, Remark, Report, Trust};

/// Reports who signed. From then on `trust` has the keys that were used, which are the header's if the auditor has none.
pub(super) fn for_checkpoint(
    header: &Header,
    trust: &mut Trust,
    report: &mut Report,
) -> Result<(), Problem> {
    let claimed = header.checkpoint.unverified();
    report.made_at = Some(header.made_at.clone());
    report.filter = header.filter.clone();
    report.covered = Some(Covered {
        origin: claimed.origin().to_owned(),
        first: header.first,
        end: header.end,
        size: claimed.size(),
        root: *claimed.root(),
    });
    let from_file = usable(&header.keys)?;
    if trust.keys.is_empty() {
        report.remarks.push(Remark::KeyFromFile);
        trust.keys = from_file;
    }
    // A witness's key signs something else.
    let is_of_a_log = |key: &VerifierKey| key.algorithm() == Algorithm::Ed25519;
    trust.keys.retain(is_of_a_log);
    if trust.keys.is_empty() {
        return Err(Problem::KeyUnsupported);
    }
    if header.origin != claimed.origin() {
        let problem = Problem::OriginMismatch {
            header: header.origin.clone(),
            checkpoint: claimed.origin().to_owned(),
        };
        report.found(Some(1), problem);
    }
    match header.checkpoint.note().verify(&trust.keys) {
        Ok(signed) => {
            let keys = signed.iter().map(|signed| signed.key.to_string());
            report.signed_by = keys.collect();
        }
        Err(error) => report.found(Some(1), Problem::NotSigned(error)),
    }
    if trust.witnesses.is_empty() {
        report.remarks.push(Remark::NoWitness);
    }
    for witness in &trust.witnesses {
        match cosigned(&header.checkpoint, witness) {
            Ok(cosigned) => report.cosigned.push(cosigned),
            Err(problem) => report.found(Some(1), problem),
        }
    }
    Ok(())
}

fn cosigned(checkpoint: &SignedCheckpoint, witness: &VerifierKey) -> Result<Cosigned, Problem> {
    let asked = std::slice::from_ref(witness);
    let cosigned = checkpoint.cosigned_by(asked).map_err(Problem::Witness)?;
    let unix_seconds = cosigned.first().and_then(|signed| signed.timestamp);
    let unix_seconds = unix_seconds.ok_or_else(|| Problem::WitnessMissing {
        name: witness.name().to_owned(),
    })?;
    Ok(Cosigned {
        witness: witness.to_string(),
        unix_seconds,
    })
}

/// The keys that this program can use: those of an unknown type are passed over, as their signatures are.
fn usable(keys: &[String]) -> Result<Vec<VerifierKey>, Problem> {
    let mut usable = Vec::new();
    for key in keys {
        match key.parse() {
            Ok(key) => usable.push(key),
            Err(Error::KeyUnsupported(_)) => {}
            Err(error) => return Err(Problem::Key(error)),
        }
    }
    Ok(usable)
}
