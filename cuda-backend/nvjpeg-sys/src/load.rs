//! Finding the library.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use libloading::Library;

/// The environment variable that names the library's file.
pub const PATH_VARIABLE: &str = "ISOPEL_NVJPEG_PATH";

/// Why there is no library.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("nvJPEG was not found; tried {}", tried.join("; "))]
pub struct LoadError {
    /// Each place, with what the loader said.
    pub tried: Vec<String>,
}

#[cfg(not(windows))]
const SONAMES: [&str; 3] = ["libnvjpeg.so.13", "libnvjpeg.so.12", "libnvjpeg.so"];
#[cfg(windows)]
const SONAMES: [&str; 2] = ["nvjpeg64_13.dll", "nvjpeg64_12.dll"];

/// Loads the first library that loads, and tells which.
pub(crate) fn load(override_path: Option<OsString>) -> Result<(Library, String), LoadError> {
    let places = match override_path.filter(|path| !path.is_empty()) {
        Some(path) => vec![path],
        None => {
            let roots = ["VIRTUAL_ENV", "CONDA_PREFIX"].into_iter().filter_map(std::env::var_os).map(PathBuf::from);
            let wheels = roots.flat_map(|root| wheel_files(&root)).map(PathBuf::into_os_string);
            SONAMES.iter().map(OsString::from).chain(wheels).collect()
        }
    };
    let mut tried = Vec::new();
    for place in places {
        match open(&place) {
            Ok(library) => return Ok((library, place.to_string_lossy().into_owned())),
            Err(error) => tried.push(format!("{}: {error}", place.to_string_lossy())),
        }
    }
    Err(LoadError { tried })
}

/// Whether the driver's video library is visible, which the JPEG engines need: containers show it only with the
/// capability `video`.
pub fn is_video_library_present() -> bool {
    let name = if cfg!(windows) { "nvcuvid.dll" } else { "libnvcuvid.so.1" };
    open(OsStr::new(name)).is_ok()
}

fn open(place: &OsStr) -> Result<Library, libloading::Error> {
    // SAFETY: initialisers of NVIDIA's libraries have no requirements. A file named by the user is theirs to vouch for.
    unsafe { Library::new(place) }
}

/// Where the wheels `nvidia-nvjpeg` (13) and `nvidia-nvjpeg-cu12` put the library in a Python environment.
fn wheel_files(root: &Path) -> Vec<PathBuf> {
    let Ok(entries) = root.join("lib").read_dir() else { return Vec::new() };
    let pythons = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.file_name().and_then(OsStr::to_str).is_some_and(|name| name.starts_with("python3")));
    let files = pythons.flat_map(|python| {
        let nvidia = python.join("site-packages/nvidia");
        [nvidia.join("cu13/lib/libnvjpeg.so.13"), nvidia.join("nvjpeg/lib/libnvjpeg.so.12")]
    });
    let mut files: Vec<PathBuf> = files.filter(|file| file.is_file()).collect();
    files.sort();
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_override_that_is_no_library_is_named_and_nothing_else_is_tried() {
        let error = load(Some("/nonexistent/libnvjpeg.so.99".into())).unwrap_err();
        assert_eq!(error.tried.len(), 1);
        assert!(error.to_string().contains("/nonexistent/libnvjpeg.so.99"), "{error}");
    }

    #[test]
    fn wheels_are_found_in_both_their_places() {
        let root = std::env::temp_dir().join(format!("isopel-nvjpeg-wheels-{}", std::process::id()));
        let site = root.join("lib/python3.12/site-packages/nvidia");
        let expected = [site.join("cu13/lib/libnvjpeg.so.13"), site.join("nvjpeg/lib/libnvjpeg.so.12")];
        for file in &expected {
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, b"").unwrap();
        }
        let found = wheel_files(&root);
        std::fs::remove_dir_all(&root).unwrap();
        assert_eq!(found, expected);
    }
}
