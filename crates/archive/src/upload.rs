//! A file on its way into a bucket, in parts; what is not finished is taken back.
//!
//! A bucket keeps, and charges for, the parts of an upload that nobody ends. So an upload is aborted
//! wherever it does not reach its end: after an error, and also when whoever writes is dropped.

use bytes::Bytes;
use object_store::{MultipartUpload, PutPayload, Result as Sent};
use tokio::{runtime::Handle, task::JoinSet};

use crate::Error;

/// The parts a file is sent in. S3 takes 10,000 parts of at least 5 MiB: files up to 80 GB.
const PART_BYTES: usize = 8 * 1024 * 1024;
/// Parts on their way at a time; with the one being filled, what a file in the making holds.
const PARTS_IN_FLIGHT: usize = 2;

/// A file on its way. One that is dropped leaves nothing.
pub struct FileUpload {
    name: String,
    /// `None` once it is finished or taken back.
    upload: Option<Box<dyn MultipartUpload>>,
    /// The part that is being filled.
    part: Vec<u8>,
    sending: JoinSet<Sent<()>>,
}

impl FileUpload {
    pub(crate) fn new(name: &str, upload: Box<dyn MultipartUpload>) -> Self {
        Self {
            name: name.to_owned(),
            upload: Some(upload),
            part: Vec::new(),
            sending: JoinSet::new(),
        }
    }

    /// Waits while enough is on its way.
    pub async fn write(&mut self, mut bytes: Bytes) -> Result<(), Error> {
        while !bytes.is_empty() {
            let room = PART_BYTES - self.part.len();
            self.part
                .extend_from_slice(&bytes.split_to(room.min(bytes.len())));
            if self.part.len() == PART_BYTES {
                self.sent_but(PARTS_IN_FLIGHT - 1).await?;
                self.send();
            }
        }
        Ok(())
    }

    pub async fn finish(mut self) -> Result<(), Error> {
        if !self.part.is_empty() {
            self.send();
        }
        self.sent_but(0).await?;
        if let Some(upload) = &mut self.upload {
            let finished = upload.complete().await;
            finished.map_err(|error| Error::storage(format!("finish {}", self.name), error))?;
        }
        self.upload = None;
        Ok(())
    }

    /// Puts the part that is filled on its way.
    fn send(&mut self) {
        let part = PutPayload::from(std::mem::take(&mut self.part));
        if let Some(upload) = &mut self.upload {
            self.sending.spawn(upload.put_part(part));
        }
    }

    /// Waits until no more than so many parts are on their way.
    async fn sent_but(&mut self, most: usize) -> Result<(), Error> {
        while self.sending.len() > most {
            if let Some(sent) = self.sending.join_next().await {
                let sent = sent.unwrap_or_else(|stopped| Err(stopped.into()));
                sent.map_err(|error| Error::storage(format!("write {}", self.name), error))?;
            }
        }
        Ok(())
    }
}

impl Drop for FileUpload {
    fn drop(&mut self) {
        let (Some(mut upload), Ok(runtime)) = (self.upload.take(), Handle::try_current()) else {
            return;
        };
        let mut sending = std::mem::take(&mut self.sending);
        #[expect(
            clippy::disallowed_methods,
            reason = "whoever is dropped cannot wait; what fails here is left to the bucket's own rules"
        )]
        runtime.spawn(async move {
            // A part that arrives later would be left.
            sending.shutdown().await;
            let _ = upload.abort().await;
        });
    }
}

#[cfg(test)]
mod tests {
    use std::{
        pin::Pin,
        sync::{Arc, Mutex},
    };

    use object_store::{PutResult, UploadPart};

    use super::*;

    /// Notes what is asked of it; a part that starts with `!` fails.
    #[derive(Debug, Default)]
    struct Noting(Arc<Mutex<Vec<String>>>);

    impl Noting {
        fn note(&self, what: impl Into<String>) {
            self.0.lock().expect("not poisoned").push(what.into());
        }
    }

    fn broken() -> object_store::Error {
        object_store::Error::Generic {
            store: "test",
            source: "broken".into(),
        }
    }

    impl MultipartUpload for Noting {
        fn put_part(&mut self, data: PutPayload) -> UploadPart {
            self.note(format!("part of {}", data.content_length()));
            let fails = data.iter().next().is_some_and(|bytes| bytes[0] == b'!');
            Box::pin(async move { if fails { Err(broken()) } else { Ok(()) } })
        }

        fn complete<'l, 'a>(
            &'l mut self,
        ) -> Pin<Box<dyn Future<Output = Sent<PutResult>> + Send + 'a>>
        where
            'l: 'a,
            Self: 'a,
        {
            self.note("complete");
            Box::pin(async {
                Ok(PutResult {
                    e_tag: None,
                    version: None,
                    extensions: object_store::Extensions::default(),
                })
            })
        }

        fn abort<'l, 'a>(&'l mut self) -> Pin<Box<dyn Future<Output = Sent<()>> + Send + 'a>>
        where
            'l: 'a,
            Self: 'a,
        {
            self.note("abort");
            Box::pin(async { Ok(()) })
        }
    }

    #[tokio::test]
    async fn what_is_finished_stays_and_all_else_is_taken_back() {
        let notes = Arc::<Mutex<Vec<String>>>::default();
        let upload = || FileUpload::new("file", Box::new(Noting(Arc::clone(&notes))));
        let noted = || std::mem::take(&mut *notes.lock().expect("not poisoned"));

        let mut whole = upload();
        whole
            .write(Bytes::from(vec![b'a'; PART_BYTES + 7]))
            .await
            .expect("written");
        whole.finish().await.expect("finished");
        tokio::task::yield_now().await;
        assert_eq!(
            noted(),
            [
                format!("part of {PART_BYTES}").as_str(),
                "part of 7",
                "complete"
            ]
        );

        let mut dropped = upload();
        dropped
            .write(Bytes::from_static(b"a"))
            .await
            .expect("written");
        drop(dropped);
        let mut failed = upload();
        failed
            .write(Bytes::from_static(b"!"))
            .await
            .expect("written");
        assert!(failed.finish().await.is_err());
        let mut all = Vec::new();
        while all.len() < 3 {
            tokio::task::yield_now().await;
            all.extend(noted());
        }
        assert_eq!(all, ["part of 1", "abort", "abort"]);
    }
}
