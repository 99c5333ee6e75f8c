use plotters::prelude::*;

use crate::{Request, Schedule, ScheduleError};

/// Pixels of the picture.
const SIZE: (u32, u32) = (1_200, 500);
/// A golden turn of the colour circle, so that neighbouring jobs differ.
const TURN: f64 = 0.618_033_988_749_895;

/// A placement as an SVG picture: a bar for each TaskManager, as high as its cores, with its instances as blocks in packing
/// order, coloured by job. The narrow bar beside it is the used share of its memory.
///
/// # Errors
/// [`ScheduleError::Drawing`] if the picture cannot be drawn.
///
/// # Examples
///
/// ```
/// use streamline_sched::{FirstFitDecreasing, Scheduler, Synthetic, picture};
///
/// let synthetic = Synthetic::new(60, 8, 1)?;
/// let schedule = FirstFitDecreasing.schedule(&synthetic.request())?;
/// let svg = picture(&synthetic.request(), &schedule)?;
/// assert!(svg.starts_with("<svg") && svg.matches("<rect").count() > 60);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn picture(request: &Request<'_>, schedule: &Schedule) -> Result<String, ScheduleError> {
    let mut svg = String::new();
    draw(&mut svg, request, schedule).map_err(|error| ScheduleError::Drawing {
        message: error.to_string(),
    })?;
    Ok(svg)
}

fn draw(
    svg: &mut String,
    request: &Request<'_>,
    schedule: &Schedule,
) -> Result<(), Box<dyn std::error::Error>> {
    let managers = request.cluster.task_managers();
    let demands: std::collections::BTreeMap<_, _> = request
        .demands
        .iter()
        .map(|demand| (demand.instance, demand.cpu_cores))
        .collect();
    let root = SVGBackend::with_string(svg, SIZE).into_drawing_area();
    root.fill(&WHITE)?;
    let highest = managers
        .iter()
        .map(|manager| manager.cpu_cores)
        .fold(1.0, f64::max)
        * 1.05;
    let mut chart = ChartBuilder::on(&root)
        .margin(12)
        .x_label_area_size(32)
        .y_label_area_size(44)
        .caption("instances by TaskManager, in cores", ("sans-serif", 18))
        .build_cartesian_2d(0.0..managers.len().max(1) as f64, 0.0..highest)?;
    let id = |position: &f64| {
        managers
            .get(*position as usize)
            .map_or_else(String::new, |manager| manager.id.clone())
    };
    chart
        .configure_mesh()
        .disable_x_mesh()
        .x_labels(managers.len().clamp(1, 12))
        .x_label_formatter(&id)
        .draw()?;
    let lists = schedule.instances_by_task_manager();
    for (index, manager) in managers.iter().enumerate() {
        let left = index as f64;
        let mut bottom = 0.0;
        for instance in lists.get(index).into_iter().flatten() {
            let top = bottom + demands.get(instance).copied().unwrap_or(0.0);
            let hue = (instance.job as f64 * TURN).fract();
            let shade = 0.45 + 0.08 * (instance.operator % 4) as f64;
            let block = [(left + 0.1, bottom), (left + 0.75, top)];
            chart.draw_series([
                Rectangle::new(block, HSLColor(hue, 0.6, shade).filled()),
                Rectangle::new(block, WHITE.stroke_width(1)),
            ])?;
            bottom = top;
        }
        let used = schedule.usage.get(index).map_or(0, |usage| usage.memory_bytes);
        let share = used as f64 / (manager.memory_bytes as f64).max(1.0);
        chart.draw_series([
            Rectangle::new(
                [(left + 0.78, 0.0), (left + 0.88, share * manager.cpu_cores)],
                BLACK.mix(0.35).filled(),
            ),
            Rectangle::new(
                [(left + 0.1, 0.0), (left + 0.88, manager.cpu_cores)],
                BLACK.stroke_width(1),
            ),
        ])?;
    }
    root.present()?;
    Ok(())
}
