//! Random options to decode a file with.

use isopel_core::{
    DecodeOptions, DisplayRect, Orientation, OrientationPolicy, PixelFormat, Region, Scale, Size, StoredRect,
};

use super::recipe::Recipe;
use crate::naive::shown_size;
use crate::random::Random;

/// The default options, and others of which each has something random.
pub(super) fn requests(recipe: &Recipe, random: &mut Random) -> Vec<DecodeOptions> {
    let mut requests = vec![DecodeOptions::default()];
    if !recipe.frame.is_integral() {
        requests.push(DecodeOptions::default().format(PixelFormat::ComponentPlanes));
    }
    requests.extend((0..2).map(|_| request(recipe, random)));
    requests
}

fn request(recipe: &Recipe, random: &mut Random) -> DecodeOptions {
    let own = recipe.markers.exif.map_or(Orientation::Normal, |exif| exif.orientation);
    let (policy, orientation) = match random.below(3) {
        0 => (OrientationPolicy::Apply, own),
        1 => (OrientationPolicy::Ignore, Orientation::Normal),
        _ => {
            let orientation = random.choose(&Orientation::ALL);
            (OrientationPolicy::Set(orientation), orientation)
        }
    };
    let scale = if random.one_in(4) { random.choose(&Scale::ALL) } else { Scale::Full };
    let Size { width, height } = recipe.frame.size;
    let stored = [width, height].map(|side| side.div_ceil(scale.denominator()));
    let part = |length: u32, random: &mut Random| {
        let start = random.below_u32(length);
        (start, random.within(1..=length - start))
    };
    let region = match random.below(4) {
        0 => Region::Full,
        1 => {
            let ((x, width), (y, height)) = (part(stored[0], random), part(stored[1], random));
            StoredRect::new(x, y, width, height).into()
        }
        _ => {
            let (width, height) = shown_size(orientation.to_exif(), stored[0], stored[1]);
            let ((x, width), (y, height)) = (part(width, random), part(height, random));
            DisplayRect::new(x, y, width, height).into()
        }
    };
    let format = match random.choose(&PixelFormat::ALL) {
        _ if !recipe.frame.is_integral() => PixelFormat::ComponentPlanes,
        PixelFormat::Cmyk8 if recipe.frame.components.len() < 4 => PixelFormat::Rgb8,
        format => format,
    };
    DecodeOptions::default().region(region).scale(scale).orientation(policy).format(format)
}
