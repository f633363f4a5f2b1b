//! Where files are kept: a folder, or a bucket that speaks the S3 API.

use std::{path::Path as FolderPath, sync::Arc};

use bytes::Bytes;
use futures::{Stream, StreamExt as _, TryStreamExt as _};
use object_store::{
    ObjectStore, ObjectStoreExt as _, WriteMultipart, aws::AmazonS3Builder, local::LocalFileSystem,
    path::Path, prefix::PrefixStore,
};
use url::Url;

use crate::Error;

/// The parts a file is sent in. S3 takes 10,000 parts of at least 5 MiB: files up to 80 GB.
const PART_BYTES: usize = 8 * 1024 * 1024;
/// Parts on their way at a time; with the one being filled, what a file in the making holds.
const PARTS_IN_FLIGHT: usize = 2;

/// Where files are kept. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Bucket {
    pub(crate) store: Arc<dyn ObjectStore>,
}

/// What reaching a bucket takes beside its URL; a folder needs none of it.
#[derive(Clone, Default)]
pub struct S3Options {
    /// Of a server that is not Amazon's.
    pub endpoint: Option<String>,
    pub region: Option<String>,
    pub access_key_id: Option<String>,
    pub secret_access_key: Option<String>,
}

impl Bucket {
    /// `file:///folder` or `s3://bucket/prefix`. Reaches out to nobody yet; a folder is made.
    pub fn open(url: &str, s3: &S3Options) -> Result<Self, Error> {
        let misconfigured = |problem: String| Error::Misconfigured(format!("files.url: {problem}"));
        let parsed = Url::parse(url).map_err(|error| misconfigured(error.to_string()))?;
        let store: Arc<dyn ObjectStore> = match parsed.scheme() {
            "file" => {
                let folder = parsed
                    .to_file_path()
                    .map_err(|()| misconfigured("it names no folder of this machine".to_owned()))?;
                Arc::new(folder_store(&folder).map_err(misconfigured)?)
            }
            "s3" => {
                let prefix = Path::from_url_path(parsed.path())
                    .map_err(|error| misconfigured(error.to_string()))?;
                let store = s3_store(&parsed, s3).map_err(misconfigured)?;
                Arc::new(PrefixStore::new(store, prefix))
            }
            other => {
                let problem = format!("`{other}:` is neither `file:` nor `s3:`");
                return Err(misconfigured(problem));
            }
        };
        Ok(Self { store })
    }

    /// A file to be written. It is there once it is finished, whole; not before.
    pub async fn create(&self, name: &str) -> Result<FileUpload, Error> {
        let upload = self.store.put_multipart(&Path::from(name)).await;
        let upload = upload.map_err(|error| Error::storage(format!("begin {name}"), error))?;
        Ok(FileUpload {
            name: name.to_owned(),
            parts: WriteMultipart::new_with_chunk_size(upload, PART_BYTES),
        })
    }

    /// A file's length and its bytes, read no faster than they are taken.
    pub async fn read(
        &self,
        name: &str,
    ) -> Result<(u64, impl Stream<Item = Result<Bytes, Error>> + Send + use<>), Error> {
        let found = self.store.get(&Path::from(name)).await;
        let found = found.map_err(|error| Error::storage(format!("read {name}"), error))?;
        let (length, name) = (found.meta.size, name.to_owned());
        let bytes = found
            .into_stream()
            .map_err(move |error| Error::storage(format!("read {name}"), error));
        Ok((length, bytes))
    }

    /// How many bytes a file has.
    pub async fn length(&self, name: &str) -> Result<u64, Error> {
        let found = self.store.head(&Path::from(name)).await;
        let found = found.map_err(|error| Error::storage(format!("look for {name}"), error))?;
        Ok(found.size)
    }

    /// Deletes every file below a folder; it is fine if there is none.
    pub async fn delete_below(&self, folder: &str) -> Result<(), Error> {
        let failed = |error| Error::storage(format!("delete {folder}"), error);
        let folder_path = Path::from(folder);
        let mut files = self.store.list(Some(&folder_path)).boxed();
        while let Some(file) = files.try_next().await.map_err(failed)? {
            match self.store.delete(&file.location).await {
                Ok(()) | Err(object_store::Error::NotFound { .. }) => {}
                Err(error) => return Err(failed(error)),
            }
        }
        Ok(())
    }

    /// The names of the files below a folder.
    pub async fn list(&self, folder: &str) -> Result<Vec<String>, Error> {
        let folder_path = Path::from(folder);
        let names = self.store.list(Some(&folder_path));
        let names = names.map_ok(|file| file.location.to_string());
        let names = names.try_collect().await;
        names.map_err(|error| Error::storage(format!("list {folder}"), error))
    }
}

/// A file on its way. One that is dropped leaves no file.
pub struct FileUpload {
    name: String,
    parts: WriteMultipart,
}

impl FileUpload {
    /// Waits while enough is on its way.
    pub async fn write(&mut self, bytes: Bytes) -> Result<(), Error> {
        let waited = self.parts.wait_for_capacity(PARTS_IN_FLIGHT).await;
        waited.map_err(|error| Error::storage(format!("write {}", self.name), error))?;
        self.parts.put(bytes);
        Ok(())
    }

    pub async fn finish(self) -> Result<(), Error> {
        let finished = self.parts.finish().await;
        finished.map_err(|error| Error::storage(format!("finish {}", self.name), error))?;
        Ok(())
    }

    /// Takes back what has been sent.
    pub async fn abort(self) -> Result<(), Error> {
        let aborted = self.parts.abort().await;
        aborted.map_err(|error| Error::storage(format!("take back {}", self.name), error))
    }
}

fn folder_store(folder: &FolderPath) -> Result<LocalFileSystem, String> {
    std::fs::create_dir_all(folder)
        .map_err(|error| format!("make the folder {}: {error}", folder.display()))?;
    let store = LocalFileSystem::new_with_prefix(folder).map_err(|error| error.to_string())?;
    // A finished file survives a power cut, as one in a bucket does.
    Ok(store.with_fsync(true).with_automatic_cleanup(true))
}

fn s3_store(url: &Url, s3: &S3Options) -> Result<object_store::aws::AmazonS3, String> {
    let bucket = url.host_str().ok_or("it names no bucket")?;
    let mut builder = AmazonS3Builder::new()
        .with_bucket_name(bucket)
        .with_region(s3.region.as_deref().unwrap_or("us-east-1"));
    if let Some(endpoint) = &s3.endpoint {
        // A server in one's own network may have no TLS; Amazon's is never asked without.
        builder = builder
            .with_endpoint(endpoint)
            .with_allow_http(endpoint.starts_with("http://"));
    }
    if let (Some(id), Some(secret)) = (&s3.access_key_id, &s3.secret_access_key) {
        builder = builder
            .with_access_key_id(id)
            .with_secret_access_key(secret);
    }
    builder.build().map_err(|error| error.to_string())
}
