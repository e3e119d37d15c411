use std::collections::BTreeSet;

use isopel_core::Image;
#[cfg(feature = "libjpeg-turbo")]
use isopel_core::OrientationPolicy;
use isopel_core::cpu::CpuBackend;

use super::*;
use crate::backends::{Budget, ConformanceBackend, on_cpu};

const PIXELS: u64 = 40_000;

#[test]
fn a_file_follows_from_seed_and_index() {
    for index in 0..30 {
        let [first, again] = [(); 2].map(|()| Generated::new(7, index, PIXELS));
        assert!(first.jpeg == again.jpeg && first.requests == again.requests, "file {index}");
    }
    let files: BTreeSet<_> =
        [(7, 0), (7, 1), (8, 0)].map(|(seed, index)| Generated::new(seed, index, PIXELS).jpeg).into();
    assert_eq!(files.len(), 3);
}

/// What is never generated is never checked.
#[test]
fn all_kinds_of_files_come_up() {
    let files: Vec<Generated> = (0..600).map(|index| Generated::new(1, index, PIXELS)).collect();
    let count = |what: &str, is: &dyn Fn(&Recipe) -> bool| {
        let count = files.iter().filter(|file| is(&file.recipe)).count();
        assert!(count > 2, "{what}: {count} of {} files", files.len());
    };
    for process in [CodingProcess::Baseline, CodingProcess::ExtendedSequential, CodingProcess::Progressive] {
        count("process", &|recipe| recipe.frame.process == process);
    }
    for components in [1, 3, 4] {
        count("components", &|recipe| recipe.frame.components.len() == components);
        count("scans of one", &|recipe| {
            recipe.frame.components.len() == components && recipe.scans.iter().all(|scan| scan.components.len() == 1)
        });
    }
    for factor in 1..=4 {
        let has = |recipe: &Recipe, pick: fn(&(u8, u8)) -> u8| {
            recipe.frame.components.iter().any(|component| pick(&component.sampling) == factor)
        };
        count("Hi", &|recipe| has(recipe, |sampling| sampling.0));
        count("Vi", &|recipe| has(recipe, |sampling| sampling.1));
    }
    count("factors that don't divide", &|recipe| !recipe.frame.is_integral());
    count("pairs of three", &|recipe| recipe.frame.components.len() == 3 && recipe.scans[0].components.len() == 2);
    for content in content::Content::ALL {
        count("content", &|recipe| recipe.contents.contains(&content));
    }
    for style in huffman::Style::ALL {
        count("tables", &|recipe| recipe.scans.iter().any(|scan| scan.style == style));
    }
    let step = |recipe: &Recipe| recipe.frame.components.iter().flat_map(|component| component.quant_table).max();
    count("steps of 16 bits", &|recipe| step(recipe) > Some(255));
    let restarts = |recipe: &Recipe, is: &dyn Fn(u64, u64, u64) -> bool| {
        let (across, down) = recipe.frame.scan_mcus(&recipe.scans[0].components);
        let interval = u64::from(recipe.scans[0].restart_interval);
        is(interval, across.into(), down.into())
    };
    count("no restarts", &|recipe| restarts(recipe, &|interval, _, _| interval == 0));
    count("restarts after each", &|recipe| restarts(recipe, &|interval, _, _| interval == 1));
    count("restarts at rows", &|recipe| restarts(recipe, &|interval, across, _| interval == across && across > 1));
    count("restarts anywhere", &|recipe| {
        restarts(recipe, &|interval, across, down| {
            interval > 1 && !interval.is_multiple_of(across) && interval < across * down
        })
    });
    count("restarts never reached", &|recipe| restarts(recipe, &|interval, across, down| interval > across * down));
    count("restarts that change", &|recipe| {
        recipe.scans.iter().any(|scan| scan.restart_interval != recipe.scans[0].restart_interval)
    });
    count("refinement", &|recipe| recipe.scans.iter().any(|scan| scan.high > 0 && scan.band.0 > 0));
    count("orientation", &|recipe| recipe.markers.exif.is_some());
    count("lent tables", &|recipe| recipe.markers.lent_tables);
    count("fill bytes", &|recipe| recipe.markers.fill > 0);
    count("one quantiser for two tables", &|recipe| {
        let components = &recipe.frame.components;
        components.iter().any(|component| {
            component.quant_selector == components[0].quant_selector
                && component.quant_table != components[0].quant_table
        })
    });
}

/// The CPU, but one sample of one of the pictures is off by one.
struct OffByOne;

impl ConformanceBackend for OffByOne {
    fn name(&self) -> &'static str {
        "off by one"
    }

    fn describe(&self) -> String {
        String::new()
    }

    fn budget(&self) -> Budget {
        Budget::ALL
    }

    fn decode(&self, jpeg: &[u8], options: &DecodeOptions) -> Result<Image, isopel_core::Error> {
        on_cpu(jpeg, options)
    }

    fn decode_batch(&self, files: &[(Arc<[u8]>, DecodeOptions)]) -> Vec<Result<Image, isopel_core::Error>> {
        let mut images: Vec<_> = files.iter().map(|(jpeg, options)| on_cpu(jpeg, options)).collect();
        let image = images.iter_mut().rev().find_map(|result| result.as_mut().ok()).unwrap();
        *image.pixels.last_mut().unwrap() ^= 1;
        images
    }
}

#[test]
fn one_wrong_sample_is_a_failure() {
    let files: Vec<Expected> = (0..4).map(|index| Expected::of(Generated::new(3, index, PIXELS))).collect();
    let (tally, failures) = check_on(&OffByOne, &files.iter().collect::<Vec<_>>());
    assert_eq!(failures.len(), 1, "{failures:?}");
    assert_eq!(failures[0].index, 3);
    assert!(failures[0].message.contains("--seed 3 --first 3 --count 1"), "{}", failures[0].message);
    let images = files.iter().flat_map(|expected| expected.images()).filter(|image| image.is_ok()).count() as u64;
    assert_eq!(tally.get("off by one: requests, by cpu"), images - 1);
}

#[test]
fn a_coefficient_that_was_not_written_is_a_failure() {
    let threads = CpuBackend::new(2);
    // Complete files whose first component has more than one block.
    let complete = |file: &Generated| !file.is_progressive() && file.size().width > 32;
    let mut file = (0..).map(|index| Generated::new(4, index, PIXELS)).find(complete).unwrap();
    file.check_on_cpu(&threads).unwrap();
    let mut random = Random::new(99);
    let columns = file.recipe.frame.padded_blocks(0);
    file.planes[0] = Plane::fill(content::Content::Noise, columns, &mut random);
    let failure = file.check_on_cpu(&threads).unwrap_err();
    assert!(failure.message.contains("was written as"), "{}", failure.message);
}

#[cfg(feature = "libjpeg-turbo")]
#[test]
fn one_sample_that_is_not_libjpeg_turbos_is_seen() {
    let file =
        (0..).map(|index| Generated::new(5, index, PIXELS)).find(|file| file.recipe.frame.is_integral()).unwrap();
    let options = DecodeOptions::default().format(file.own_format()).orientation(OrientationPolicy::Ignore);
    let mut image = on_cpu(&file.jpeg, &options).unwrap();
    turbo::compare(&file.jpeg, &image).unwrap();
    *image.pixels.last_mut().unwrap() ^= 1;
    let difference = turbo::compare(&file.jpeg, &image).unwrap_err();
    assert!(difference.starts_with("1 bytes differ"), "{difference}");
}
