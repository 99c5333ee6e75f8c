//! Pictures (SVG) of forecasts, capacity curves, Pareto fronts and days of load.

use std::path::Path;

use plotters::coord::Shift;
use plotters::prelude::*;
use streamline_core::TimeSeries;
use streamline_predict::Forecast;
use streamline_surrogate::CapacityCurve;

use crate::{Error, FrontPoint};

const SIZE: (u32, u32) = (960, 540);
const MEASURED: RGBColor = RGBColor(90, 90, 90);
const EXPECTED: RGBColor = RGBColor(31, 119, 180);
const CHOSEN: RGBColor = RGBColor(214, 39, 40);

/// Draws the end of a history, a forecast that follows it with its outermost quantiles as a band, and, where it is
/// known, what really came.
///
/// # Errors
/// [`Error::Plot`] if the file cannot be written.
pub fn plot_forecast(
    path: &Path,
    title: &str,
    history: &TimeSeries,
    forecast: &Forecast,
    actual: Option<&TimeSeries>,
) -> Result<(), Error> {
    let hours = |ms: i64| ms.saturating_sub(forecast.origin_ms()) as f64 / 3_600_000.0;
    let known = |series: &TimeSeries| -> Vec<(f64, f64)> {
        series
            .iter()
            .enumerate()
            .filter_map(|(i, value)| Some((hours(series.time_ms(i)), value?)))
            .collect()
    };
    let past = known(history);
    let future = |values: &[f64]| -> Vec<(f64, f64)> {
        values
            .iter()
            .enumerate()
            .map(|(i, &value)| (hours(forecast.time_ms(i)), value))
            .collect()
    };
    let quantile = |level: Option<&f64>| level.map(|&level| future(&forecast.quantile(level)));
    let low = quantile(forecast.levels().first()).unwrap_or_default();
    let high = quantile(forecast.levels().last()).unwrap_or_default();
    let point = future(forecast.point());
    let came = actual.map(known).unwrap_or_default();

    let all = [&past, &low, &high, &point, &came].into_iter().flatten().copied();
    picture(path, |root| {
        let mut chart = chart(root, title, all)?;
        mesh(&mut chart, "hours from the origin", "records/s")?;
        let band: Vec<(f64, f64)> = low.iter().chain(high.iter().rev()).copied().collect();
        chart
            .draw_series(std::iter::once(Polygon::new(band, EXPECTED.mix(0.2))))?
            .label("outermost quantiles")
            .legend(|(x, y)| Rectangle::new([(x, y - 5), (x + 16, y + 5)], EXPECTED.mix(0.2).filled()));
        for (line, color, label) in [
            (&past, MEASURED, "history"),
            (&came, BLACK, "what came"),
            (&point, EXPECTED, "forecast"),
        ] {
            chart
                .draw_series(LineSeries::new(line.iter().copied(), color.stroke_width(2)))?
                .label(label)
                .legend(move |(x, y)| PathElement::new(vec![(x, y), (x + 16, y)], color.stroke_width(2)));
        }
        legend(&mut chart, SeriesLabelPosition::UpperLeft)
    })
}

/// Draws the capacity that was measured of an operator and the curve that was fitted to it, up to `largest`.
///
/// # Errors
/// [`Error::Plot`] if the file cannot be written.
pub fn plot_capacity(
    path: &Path,
    title: &str,
    measured: &[(u32, f64)],
    curve: &CapacityCurve,
    largest: u32,
) -> Result<(), Error> {
    let points: Vec<(f64, f64)> = measured.iter().map(|&(p, rate)| (f64::from(p), rate)).collect();
    let line: Vec<(f64, f64)> = (1..=largest.max(1))
        .map(|p| (f64::from(p), curve.capacity(p)))
        .collect();
    let all: Vec<(f64, f64)> = points.iter().chain(&line).copied().chain([(0.0, 0.0)]).collect();
    picture(path, |root| {
        let mut chart = chart(root, title, all)?;
        mesh(&mut chart, "parallelism", "records/s at full capacity")?;
        chart
            .draw_series(LineSeries::new(line, EXPECTED.stroke_width(2)))?
            .label("polynomial regression")
            .legend(|(x, y)| PathElement::new(vec![(x, y), (x + 16, y)], EXPECTED.stroke_width(2)));
        chart
            .draw_series(
                points
                    .into_iter()
                    .map(|point| Circle::new(point, 4, MEASURED.filled())),
            )?
            .label("measured")
            .legend(|(x, y)| Circle::new((x + 8, y), 4, MEASURED.filled()));
        legend(&mut chart, SeriesLabelPosition::UpperLeft)
    })
}

/// Draws a Pareto front of cost and latency, and what was chosen.
///
/// # Errors
/// [`Error::Plot`] if the file cannot be written.
pub fn plot_front(path: &Path, title: &str, front: &[FrontPoint], chosen: FrontPoint) -> Result<(), Error> {
    let place = |point: &FrontPoint| (point.cost, point.latency_ms);
    let points: Vec<(f64, f64)> = front.iter().map(place).collect();
    let all: Vec<(f64, f64)> = points.iter().copied().chain([place(&chosen)]).collect();
    picture(path, |root| {
        let mut chart = chart(root, title, all)?;
        mesh(&mut chart, "cost (cores)", "latency (ms)")?;
        chart
            .draw_series(
                points
                    .into_iter()
                    .map(|point| Circle::new(point, 4, EXPECTED.filled())),
            )?
            .label("Pareto front")
            .legend(|(x, y)| Circle::new((x + 8, y), 4, EXPECTED.filled()));
        chart
            .draw_series([TriangleMarker::new(place(&chosen), 8, CHOSEN.filled())])?
            .label("chosen")
            .legend(|(x, y)| TriangleMarker::new((x + 8, y), 7, CHOSEN.filled()));
        legend(&mut chart, SeriesLabelPosition::UpperRight)
    })
}

/// Draws series over the same time as lines, each with its label.
///
/// # Errors
/// [`Error::Plot`] if the file cannot be written.
pub fn plot_series(path: &Path, title: &str, unit: &str, lines: &[(&str, &TimeSeries)]) -> Result<(), Error> {
    let start = lines
        .iter()
        .map(|(_, series)| series.start_ms())
        .min()
        .unwrap_or_default();
    let ends = lines.iter().map(|(_, series)| series.time_ms(series.len()));
    let span_ms = ends.max().unwrap_or_default().saturating_sub(start);
    let (time_unit, unit_ms) = if span_ms < 2 * 3_600_000 {
        ("minutes", 60_000.0)
    } else {
        ("hours", 3_600_000.0)
    };
    let lines: Vec<(&str, Vec<(f64, f64)>)> = lines
        .iter()
        .map(|&(label, series)| {
            let time = |index| series.time_ms(index).saturating_sub(start) as f64 / unit_ms;
            (
                label,
                series
                    .iter()
                    .enumerate()
                    .filter_map(|(i, value)| Some((time(i), value?)))
                    .collect(),
            )
        })
        .collect();
    let all = lines
        .iter()
        .flat_map(|(_, points)| points)
        .copied()
        .chain([(0.0, 0.0)]);
    picture(path, |root| {
        let mut chart = chart(root, title, all)?;
        mesh(&mut chart, time_unit, unit)?;
        for (index, (label, points)) in lines.iter().enumerate() {
            let color = Palette99::pick(index).to_rgba();
            chart
                .draw_series(LineSeries::new(points.iter().copied(), color.stroke_width(2)))?
                .label(*label)
                .legend(move |(x, y)| PathElement::new(vec![(x, y), (x + 16, y)], color.stroke_width(2)));
        }
        legend(&mut chart, SeriesLabelPosition::UpperLeft)
    })
}

type Failure = Box<dyn std::error::Error>;
type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Chart<'a, 'b> = ChartContext<
    'a,
    SVGBackend<'b>,
    Cartesian2d<plotters::coord::types::RangedCoordf64, plotters::coord::types::RangedCoordf64>,
>;

fn picture(path: &Path, draw: impl FnOnce(&Area<'_>) -> Result<(), Failure>) -> Result<(), Error> {
    let root = SVGBackend::new(path, SIZE).into_drawing_area();
    let drawn = root
        .fill(&WHITE)
        .map_err(Failure::from)
        .and_then(|()| draw(&root));
    drawn
        .and_then(|()| root.present().map_err(Failure::from))
        .map_err(|error| Error::Plot {
            path: path.into(),
            reason: error.to_string(),
        })
}

/// A chart that holds all the points, with a little room around them.
fn chart<'a, 'b>(
    root: &'a Area<'b>,
    title: &str,
    points: impl IntoIterator<Item = (f64, f64)>,
) -> Result<Chart<'a, 'b>, Failure> {
    let (mut x, mut y) = ((f64::MAX, f64::MIN), (f64::MAX, f64::MIN));
    for point in points {
        x = (x.0.min(point.0), x.1.max(point.0));
        y = (y.0.min(point.1), y.1.max(point.1));
    }
    let range = |(low, high): (f64, f64)| {
        let (low, high) = if low <= high { (low, high) } else { (0.0, 1.0) };
        let room = ((high - low) * 0.05).max(high.abs() * 1e-3).max(1e-9);
        (low - room)..(high + room)
    };
    Ok(ChartBuilder::on(root)
        .caption(title, ("sans-serif", 20))
        .margin(12)
        .x_label_area_size(40)
        .y_label_area_size(72)
        .build_cartesian_2d(range(x), range(y))?)
}

fn mesh<'a, 'b: 'a>(chart: &mut Chart<'a, 'b>, x: &str, y: &str) -> Result<(), Failure> {
    let number = |value: &f64| {
        if value.abs() < 1_000.0 {
            format!("{value:.1}")
        } else {
            format!("{value:.0}")
        }
    };
    chart
        .configure_mesh()
        .max_light_lines(1)
        .x_label_formatter(&number)
        .y_label_formatter(&number)
        .x_desc(x)
        .y_desc(y)
        .draw()?;
    Ok(())
}

fn legend<'a, 'b: 'a>(chart: &mut Chart<'a, 'b>, position: SeriesLabelPosition) -> Result<(), Failure> {
    chart
        .configure_series_labels()
        .background_style(WHITE.mix(0.8))
        .border_style(BLACK.mix(0.3))
        .position(position)
        .draw()?;
    Ok(())
}
