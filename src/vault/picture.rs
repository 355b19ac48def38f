//! A picture that is too large for a client, scaled down. Files of strangers are decoded here: the
//! decoders are safe Rust with limits of size, and one picture is decoded at a time.

use super::error::Error;
use super::path::VaultPath;
use crate::slice::Part;
use jpeg_encoder::{ColorType, Encoder};
use png::{Decoder, Limits, Transformations};
use std::io::Cursor;
use std::sync::{Mutex, TryLockError};
use zune_jpeg::JpegDecoder;
use zune_jpeg::zune_core::colorspace::ColorSpace;
use zune_jpeg::zune_core::options::DecoderOptions;

/// Bytes of a picture that is scaled down at most: a photo of a large camera.
pub(super) const PICTURE_BYTES: u64 = 25 * 1024 * 1024;
/// Its pixels at most: each takes three bytes of memory, and a telephone has 50 million.
const PIXELS: usize = 50_000_000;
/// Its width and height at most.
const SIDE: usize = 16_000;
/// The longer side of what is shown, the first that fits: models see no more than the first.
const SHOWN_SIDES: [usize; 4] = [SHOWN_SIDE, 1120, 800, 400];
const SHOWN_SIDE: usize = 1568;
/// Quality of the JPEG that is shown, of 100.
const QUALITY: u8 = 82;

/// A picture, three bytes for each pixel.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Pixels {
    width: usize,
    height: usize,
    rgb: Vec<u8>,
}

/// A picture scaled down, as JPEG.
#[derive(Debug)]
pub struct Scaled {
    /// The JPEG.
    pub jpeg: Vec<u8>,
    /// Its width and height.
    pub size: (usize, usize),
    /// Width and height of the picture in the file, upright.
    pub original: (usize, usize),
}

/// A JPEG or PNG as JPEG of at most so many bytes.
///
/// # Errors
/// [`Error::TooLarge`] for what is neither, is broken or has too many pixels;
/// [`Error::Overloaded`] while another picture is decoded.
pub(super) fn scaled(path: &VaultPath, bytes: &[u8], max_bytes: u64) -> Result<Scaled, Error> {
    static ONE: Mutex<()> = Mutex::new(());
    let _one = match ONE.try_lock() {
        Err(TryLockError::WouldBlock) => return Err(Error::Overloaded),
        // It guards no data.
        free => free,
    };
    let decoded = if bytes.starts_with(b"\xff\xd8") { of_jpeg(bytes) } else { of_png(bytes) };
    decoded.and_then(|(pixels, original)| jpeg_within(pixels, original, max_bytes)).ok_or_else(
        || Error::TooLarge {
            path: path.as_str().into(),
            size: bytes.len() as u64,
            limit: max_bytes,
        },
    )
}

fn jpeg_within(mut pixels: Pixels, original: (usize, usize), max_bytes: u64) -> Option<Scaled> {
    for side in SHOWN_SIDES {
        let (width, height) = fitting((pixels.width, pixels.height), side);
        pixels = Shrunk::of(&pixels.rgb, (pixels.width, pixels.height), (width, height));
        let mut jpeg = Vec::new();
        let sides = (u16::try_from(width).ok()?, u16::try_from(height).ok()?);
        Encoder::new(&mut jpeg, QUALITY)
            .encode(&pixels.rgb, sides.0, sides.1, ColorType::Rgb)
            .ok()?;
        if jpeg.len() as u64 <= max_bytes {
            return Some(Scaled { jpeg, size: (width, height), original });
        }
    }
    None
}

/// Width and height with the same ratio, of which the longer is at most `side`.
fn fitting((width, height): (usize, usize), side: usize) -> (usize, usize) {
    let longer = width.max(height).max(1);
    let scaled = |length: usize| (length * side / longer).max(1);
    if longer <= side { (width, height) } else { (scaled(width), scaled(height)) }
}

fn is_small_enough(width: usize, height: usize) -> bool {
    (1..=SIDE).contains(&width) && (1..=SIDE).contains(&height) && width * height <= PIXELS
}

/// A JPEG scaled down to [`SHOWN_SIDE`] and turned upright, and its own size.
fn of_jpeg(bytes: &[u8]) -> Option<(Pixels, (usize, usize))> {
    let options = DecoderOptions::new_safe()
        .set_max_width(SIDE)
        .set_max_height(SIDE)
        .jpeg_set_out_colorspace(ColorSpace::RGB);
    let mut decoder = JpegDecoder::new_with_options(Cursor::new(bytes), options);
    decoder.decode_headers().ok()?;
    let (width, height) = decoder.dimensions()?;
    if !is_small_enough(width, height) {
        return None;
    }
    let rgb = decoder.decode().ok()?;
    let turn = decoder.exif().map_or(1, |exif| orientation(exif));
    let small = Shrunk::of(&rgb, (width, height), fitting((width, height), SHOWN_SIDE));
    let upright = small.upright(turn);
    let is_on_its_side = turn >= 5;
    Some((upright, if is_on_its_side { (height, width) } else { (width, height) }))
}

/// A PNG likewise, on white. An interlaced one, which cannot be read line by line, is none.
fn of_png(bytes: &[u8]) -> Option<(Pixels, (usize, usize))> {
    let limits = Limits { bytes: PICTURE_BYTES as usize };
    let mut decoder = Decoder::new_with_limits(Cursor::new(bytes), limits);
    decoder.set_transformations(Transformations::normalize_to_color8());
    let mut reader = decoder.read_info().ok()?;
    let (width, height) = (reader.info().width as usize, reader.info().height as usize);
    if reader.info().interlaced || !is_small_enough(width, height) {
        return None;
    }
    let channels = reader.output_color_type().0.samples();
    let to = fitting((width, height), SHOWN_SIDE);
    let mut shrunk = Shrunk::new((width, height), to);
    let mut line: Vec<u8> = Vec::with_capacity(3 * width);
    while let Some(row) = reader.next_row().ok()? {
        line.clear();
        line.extend(row.data().chunks_exact(channels).flat_map(|pixel| match *pixel {
            [grey] => [grey; 3],
            [grey, alpha] => [grey; 3].map(|value| on_white(value, alpha)),
            [red, green, blue, alpha] => [red, green, blue].map(|value| on_white(value, alpha)),
            [red, green, blue] => [red, green, blue],
            _ => [0; 3],
        }));
        shrunk.add_line(&line);
    }
    Some((shrunk.pixels(), (width, height)))
}

fn on_white(value: u8, alpha: u8) -> u8 {
    let [value, alpha] = [value, alpha].map(u32::from);
    ((value * alpha + 255 * (255 - alpha)) / 255) as u8
}

/// How a JPEG is to be turned: the tag Orientation of its first directory (Exif 2.32, 4.6.4), 1 to
/// 8.
fn orientation(exif: &[u8]) -> u16 {
    const TAG: u16 = 0x0112;
    let is_little = exif.starts_with(b"II");
    let bytes = |at: usize, count: usize| exif.get(at..at.checked_add(count)?);
    let short = |at: usize| {
        let pair: [u8; 2] = bytes(at, 2)?.try_into().ok()?;
        Some(if is_little { u16::from_le_bytes(pair) } else { u16::from_be_bytes(pair) })
    };
    let found = || {
        let four: [u8; 4] = bytes(4, 4)?.try_into().ok()?;
        let first = if is_little { u32::from_le_bytes(four) } else { u32::from_be_bytes(four) };
        let first = first as usize;
        let entries = usize::from(short(first)?);
        let mut places = (0..entries).map(|number| first + 2 + 12 * number);
        let place = places.find(|place| short(*place) == Some(TAG))?;
        short(place + 8)
    };
    found().filter(|turn| (1..=8).contains(turn)).unwrap_or(1)
}

impl Pixels {
    /// Turned and mirrored as the tag Orientation says.
    fn upright(self, turn: u16) -> Pixels {
        let Pixels { width, height, .. } = self;
        let (right, bottom) = (width.saturating_sub(1), height.saturating_sub(1));
        let (new_width, new_height) = if turn >= 5 { (height, width) } else { (width, height) };
        let places = (0..new_height).flat_map(|y| (0..new_width).map(move |x| (x, y)));
        let source = |(x, y): (usize, usize)| match turn {
            2 => (right - x, y),
            3 => (right - x, bottom - y),
            4 => (x, bottom - y),
            5 => (y, x),
            6 => (y, bottom - x),
            7 => (right - y, bottom - x),
            8 => (right - y, x),
            _ => (x, y),
        };
        let mut rgb = Vec::with_capacity(self.rgb.len());
        for (x, y) in places.map(source) {
            let at = 3 * (y * width + x);
            rgb.extend_from_slice(self.rgb.part(at..at + 3));
        }
        Pixels { width: new_width, height: new_height, rgb }
    }
}

/// A picture that comes line by line, with the area of each new pixel as its colour.
struct Shrunk {
    from: (usize, usize),
    to: (usize, usize),
    /// Lines that have come.
    lines: usize,
    /// The sum of the lines of the current new line, each pixel times `from.0 * from.1`.
    sums: Vec<u64>,
    rgb: Vec<u8>,
}

impl Shrunk {
    fn new(from: (usize, usize), to: (usize, usize)) -> Shrunk {
        Shrunk {
            from,
            to,
            lines: 0,
            sums: vec![0; 3 * to.0],
            rgb: Vec::with_capacity(3 * to.0 * to.1),
        }
    }

    fn of(rgb: &[u8], from: (usize, usize), to: (usize, usize)) -> Pixels {
        let mut shrunk = Shrunk::new(from, to);
        rgb.chunks_exact(3 * from.0.max(1)).for_each(|line| shrunk.add_line(line));
        shrunk.pixels()
    }

    fn add_line(&mut self, line: &[u8]) {
        let across = self.across(line);
        let (first, ends) = shares(self.lines, self.from.1, self.to.1);
        self.lines += 1;
        self.add(&across, first);
        if let Some(rest) = ends {
            let area = (self.from.0 * self.from.1) as u64;
            self.rgb.extend(self.sums.iter().map(|sum| (sum / area).min(255) as u8));
            self.sums.fill(0);
            self.add(&across, rest);
        }
    }

    fn add(&mut self, across: &[u64], share: usize) {
        for (sum, value) in self.sums.iter_mut().zip(across) {
            *sum += value * share as u64;
        }
    }

    /// A line in its new width, each value times `from.0`.
    fn across(&self, line: &[u8]) -> Vec<u64> {
        let mut across = Vec::with_capacity(3 * self.to.0);
        let mut sum = [0; 3];
        for (number, pixel) in line.chunks_exact(3).enumerate() {
            let (first, ends) = shares(number, self.from.0, self.to.0);
            let add = |sum: &mut [u64; 3], share: usize| {
                for (sum, value) in sum.iter_mut().zip(pixel) {
                    *sum += u64::from(*value) * share as u64;
                }
            };
            add(&mut sum, first);
            if let Some(rest) = ends {
                across.extend(sum);
                sum = [0; 3];
                add(&mut sum, rest);
            }
        }
        across
    }

    fn pixels(self) -> Pixels {
        Pixels { width: self.to.0, height: self.to.1, rgb: self.rgb }
    }
}

/// Of a unit of `from` units that become `to`, fewer ones: its share in the new unit in which it
/// begins, and, where that ends with or within it, its share in the next. The shares in a new unit
/// are `from` together.
fn shares(number: usize, from: usize, to: usize) -> (usize, Option<usize>) {
    let (start, end) = (number * to, (number + 1) * to);
    let boundary = (start / from.max(1) + 1) * from;
    if end < boundary { (to, None) } else { (boundary - start, Some(end - boundary)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn upright(turn: u16) -> Pixels {
        let grey = |value: u8| [value; 3];
        let rgb = [1, 2, 3, 4, 5, 6].map(grey).concat();
        Pixels { width: 3, height: 2, rgb }.upright(turn)
    }

    #[test]
    fn the_area_of_a_new_pixel_is_its_colour() {
        // Five by two become two by one: the middle column is half in each.
        let grey = |values: [u8; 5]| values.map(|value| [value; 3]).concat();
        let rgb = [grey([0, 10, 100, 20, 30]), grey([0, 10, 100, 20, 30])].concat();
        let small = Shrunk::of(&rgb, (5, 2), (2, 1));
        assert_eq!(small.rgb, [24, 24, 24, 40, 40, 40]);
        let same = Shrunk::of(&rgb, (5, 2), (5, 2));
        assert_eq!(same.rgb, rgb);
        for from in 1..40 {
            for to in 1..=from {
                let white = vec![255; 3 * from * from];
                let small = Shrunk::of(&white, (from, from), (to, to));
                assert_eq!(small.rgb, vec![255; 3 * to * to], "{from} to {to}");
            }
        }
        assert_eq!(fitting((4032, 3024), 1568), (1568, 1176));
        assert_eq!(fitting((10, 16_000), 1568), (1, 1568));
    }

    #[test]
    fn a_picture_is_turned_upright() {
        let seen = |turn| {
            let Pixels { width, rgb, .. } = upright(turn);
            let values: Vec<u8> = rgb.iter().step_by(3).copied().collect();
            values.chunks(width).map(<[u8]>::to_vec).collect::<Vec<_>>()
        };
        assert_eq!(seen(1), [[1, 2, 3], [4, 5, 6]]);
        assert_eq!(seen(2), [[3, 2, 1], [6, 5, 4]]);
        assert_eq!(seen(3), [[6, 5, 4], [3, 2, 1]]);
        assert_eq!(seen(4), [[4, 5, 6], [1, 2, 3]]);
        assert_eq!(seen(5), [[1, 4], [2, 5], [3, 6]]);
        assert_eq!(seen(6), [[4, 1], [5, 2], [6, 3]]);
        assert_eq!(seen(7), [[6, 3], [5, 2], [4, 1]]);
        assert_eq!(seen(8), [[3, 6], [2, 5], [1, 4]]);
        let little = b"II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0\0\0\0\0";
        let big = b"MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x08\0\0\0\0\0\0";
        assert_eq!([orientation(little), orientation(big)], [6, 8]);
        for broken in [&little[..12], b"II*\0\xff\xff\xff\xff", b""] {
            assert_eq!(orientation(broken), 1);
        }
    }
}
