//! Every file of the vault as a resource: list, template, read.

use super::methods::{Answer, Call};
use crate::cursor;
use crate::limits;
use crate::rpc::Error;
use crate::uri;
use crate::vault::list::Filter;
use crate::vault::{Error as VaultError, VaultPath, media};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

/// `resources/list`: files sorted by path, a page at a time.
///
/// # Errors
/// -32602 for a cursor that is not one of ours, -32603 when the vault cannot be read.
pub fn list(call: &Call<'_>) -> Result<Answer, Error> {
    let after = match call.cursor()? {
        Some(cursor) => Some(cursor::last(cursor).ok_or_else(|| Error::invalid_params("Unknown cursor"))?),
        None => None,
    };
    let filter = Filter { after, limit: limits::RESOURCES_PAGE, ..Filter::default() };
    let page = call.server.vault.list_all(&filter).map_err(|error| {
        log::warn!("resources/list failed: {error}");
        Error::internal()
    })?;
    let resources: Vec<Value> = page
        .files
        .iter()
        .map(|file| {
            json!({
                "uri": uri::of_path(&file.path),
                "name": file.name(),
                "mimeType": media::of(&file.path).1,
                "size": file.stamp.size,
                "annotations": { "lastModified": file.stamp.modified().rfc3339() },
            })
        })
        .collect();
    let mut result = json!({ "resources": resources });
    if let (true, Some(last), Some(members)) = (page.more, page.files.last(), result.as_object_mut()) {
        members.insert("nextCursor".into(), cursor::after(&last.path).into());
    }
    Ok(Answer::Result(result.to_string()))
}

/// `resources/templates/list`: the one template, for clients that make URIs themselves.
///
/// # Errors
/// None.
pub fn templates(_: &Call<'_>) -> Result<Answer, Error> {
    let template = json!({
        "uriTemplate": "vault:///{+path}",
        "name": "file",
        "title": "A file of the vault",
        "description": "Any note or attachment by its path relative to the vault root, percent-encoded except for /",
    });
    Ok(Answer::Result(json!({ "resourceTemplates": [template] }).to_string()))
}

/// `resources/read`: a file whole, as text if it is UTF-8, else in base64.
///
/// # Errors
/// -32002 when there is no such file (hidden ones are none), -32602 for one that is too large, -32603 when the disk
/// refuses.
pub fn read(call: &Call<'_>) -> Result<Answer, Error> {
    let uri = call.text("uri")?;
    let path = uri::to_path(uri).and_then(|path| VaultPath::file(&path).ok()).ok_or_else(|| Error::resource_not_found(uri))?;
    let (path, bytes, _) = call.server.vault.bytes(&path).map_err(|error| match error {
        VaultError::NotFound { .. } | VaultError::NotAllowed { .. } => Error::resource_not_found(uri),
        VaultError::TooLarge { .. } => Error::invalid_params(error.to_string()),
        other => {
            log::warn!("resources/read failed: {other}");
            Error::internal()
        }
    })?;
    if bytes.len() as u64 > limits::RESOURCE_BYTES {
        let why =
            format!("The resource has {} bytes, more than {}; read it in parts with vault_read.", bytes.len(), limits::RESOURCE_BYTES);
        return Err(Error::invalid_params(why));
    }
    let mime_type = media::of(path.name()).1;
    let contents = match String::from_utf8(bytes) {
        Ok(text) => json!({ "uri": uri, "mimeType": mime_type, "text": text }),
        Err(error) => json!({ "uri": uri, "mimeType": mime_type, "blob": STANDARD.encode(error.as_bytes()) }),
    };
    Ok(Answer::Result(json!({ "contents": [contents] }).to_string()))
}
