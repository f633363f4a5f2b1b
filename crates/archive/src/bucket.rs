//! Where files are kept: a folder, or a bucket that speaks the S3 API.

use std::{fs::DirBuilder, os::unix::fs::DirBuilderExt as _, path::Path as FolderPath, sync::Arc};

use bytes::Bytes;
use domain::Timestamp;
use futures::{Stream, StreamExt as _, TryStreamExt as _};
use object_store::{
    ObjectStore, ObjectStoreExt as _, PutMode, aws::AmazonS3Builder, local::LocalFileSystem,
    path::Path, prefix::PrefixStore,
};
use url::Url;

use crate::{Error, upload::FileUpload};

/// Only we may read what customers recorded.
const FOLDER_MODE: u32 = 0o700;

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
                let folder = parsed.to_file_path().map_err(|()| {
                    misconfigured("it does not name a folder on this machine".to_owned())
                })?;
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
        let upload =
            upload.map_err(|error| Error::storage(format!("start writing {name}"), error))?;
        Ok(FileUpload::new(name, upload))
    }

    /// Writes a small file that must not be there yet; whether it was not.
    pub async fn put_new(&self, name: &str, bytes: Bytes) -> Result<bool, Error> {
        let put = self
            .store
            .put_opts(&Path::from(name), bytes.into(), PutMode::Create.into())
            .await;
        match put {
            Ok(_) => Ok(true),
            Err(object_store::Error::AlreadyExists { .. }) => Ok(false),
            Err(error) => Err(Error::storage(format!("write {name}"), error)),
        }
    }

    /// Writes a small file, in the place of one that is there.
    pub async fn put(&self, name: &str, bytes: Bytes) -> Result<(), Error> {
        let put = self.store.put(&Path::from(name), bytes.into()).await;
        put.map_err(|error| Error::storage(format!("write {name}"), error))?;
        Ok(())
    }

    /// A small file, all of it; `None` if there is none.
    pub async fn get(&self, name: &str) -> Result<Option<Bytes>, Error> {
        let failed = |error| Error::storage(format!("read {name}"), error);
        match self.store.get(&Path::from(name)).await {
            Ok(found) => Ok(Some(found.bytes().await.map_err(failed)?)),
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(failed(error)),
        }
    }

    /// Deletes a file; it is fine if there is none.
    pub async fn delete(&self, name: &str) -> Result<(), Error> {
        match self.store.delete(&Path::from(name)).await {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(Error::storage(format!("delete {name}"), error)),
        }
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
            self.delete(file.location.as_ref()).await?;
        }
        Ok(())
    }

    /// The names of the files below a folder.
    pub async fn list(&self, folder: &str) -> Result<Vec<String>, Error> {
        let files = self.list_with_times(folder).await?;
        Ok(files.into_iter().map(|(name, _)| name).collect())
    }

    /// The same, with when each was written, by the bucket's clock.
    pub async fn list_with_times(&self, folder: &str) -> Result<Vec<(String, Timestamp)>, Error> {
        let folder_path = Path::from(folder);
        let files = self.store.list(Some(&folder_path)).map_ok(|file| {
            let written = file.last_modified.timestamp_millis();
            let written = Timestamp::from_unix_millis(written);
            (file.location.to_string(), written)
        });
        let files = files.try_collect().await;
        files.map_err(|error| Error::storage(format!("list {folder}"), error))
    }
}

fn folder_store(folder: &FolderPath) -> Result<LocalFileSystem, String> {
    let mut builder = DirBuilder::new();
    builder
        .recursive(true)
        .mode(FOLDER_MODE)
        .create(folder)
        .map_err(|error| format!("create the folder {}: {error}", folder.display()))?;
    let store = LocalFileSystem::new_with_prefix(folder).map_err(|error| error.to_string())?;
    // A finished file survives a power cut, as one in a bucket does.
    Ok(store.with_fsync(true).with_automatic_cleanup(true))
}

fn s3_store(url: &Url, s3: &S3Options) -> Result<object_store::aws::AmazonS3, String> {
    let bucket = url.host_str().ok_or("it does not name a bucket")?;
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
