//! Generated files with the hashes of their pixels, for decoders that run elsewhere: in a browser.

use std::fs::{File, create_dir_all, write};
use std::io::{self, BufWriter, Write};
use std::ops::Range;
use std::path::Path;

use indicatif::ProgressBar;
use isopel_core::{DecodeOptions, FormatRequest, OrientationPolicy, Rect, Region};
use serde_json::{Value, json};

use super::Generated;
use super::device::Expected;
use crate::sha256;

/// The list's name in its folder.
pub const LIST: &str = "golden.jsonl";

/// Writes a seed's files to a folder, and a list of what the CPU makes of each of their requests, a line each:
///
/// ```json
/// {"file": "1-17.jpg", "options": {"format": "rgb8", …}, "sha256": "…"}
/// {"file": "1-18.jpg", "options": {…}, "refused": "why"}
/// ```
///
/// `options` are those of the npm package, and the hash is of the pixels without gaps between rows. How many lines there
/// are is the result.
///
/// # Errors
/// If the folder or a file can't be written.
pub fn write_golden(folder: &Path, seed: u64, files: Range<u64>, max_pixels: u64) -> io::Result<usize> {
    create_dir_all(folder)?;
    let mut list = BufWriter::new(File::create(folder.join(LIST))?);
    let mut lines = 0;
    let progress = ProgressBar::new(files.end.saturating_sub(files.start));
    for index in progress.wrap_iter(files) {
        let name = format!("{seed}-{index}.jpg");
        let file = Generated::new(seed, index, max_pixels);
        let (jpeg, requests) = (file.jpeg.clone(), file.requests.clone());
        write(folder.join(&name), &jpeg)?;
        for (options, image) in requests.iter().zip(Expected::of(file).images()) {
            let (key, value) = match image {
                Ok(image) => ("sha256", sha256(&image.pixels)),
                Err(error) => ("refused", error.to_string()),
            };
            writeln!(list, "{}", json!({ "file": name, "options": npm_options(options), key: value }))?;
            lines += 1;
        }
    }
    list.flush()?;
    Ok(lines)
}

/// The same options as an object that the npm package takes.
fn npm_options(options: &DecodeOptions) -> Value {
    let orientation = match options.orientation {
        OrientationPolicy::Apply => json!("apply"),
        OrientationPolicy::Ignore => json!("ignore"),
        OrientationPolicy::Set(orientation) => json!(orientation.to_exif()),
    };
    let format = match options.format {
        FormatRequest::Source => "source",
        FormatRequest::Exactly(format) => format.name(),
    };
    let scale = 1.0 / f64::from(options.scale.denominator());
    let mut object = json!({ "format": format, "orientation": orientation, "scale": scale });
    let (space, rect) = match options.region {
        Region::Full => return object,
        Region::Display(region) => ("display", region.rect()),
        Region::Stored(region) => ("stored", region.rect()),
    };
    let Rect { x, y, width, height } = rect;
    object["space"] = json!(space);
    object["region"] = json!({ "x": x, "y": y, "width": width, "height": height });
    object
}
