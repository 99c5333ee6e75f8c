//! Searches a mixed problem and draws its front, with the knee marked: `cargo run --example front -- front.svg`.
#![allow(clippy::print_stdout, reason = "it is a program")]

use std::error::Error;

use plotters::prelude::*;
use streamline_moo::{Function, Goal, Nsga2, Options, Rows, Variable, knee_point};

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).unwrap_or_else(|| "front.svg".to_owned());

    // A beam: its height and width in millimetres, and its material (price and stiffness). Light on the purse, and stiff.
    let materials = [("pine", 0.4, 9.0), ("oak", 1.1, 12.5), ("steel", 6.0, 210.0)];
    let problem = Function::new(
        vec![
            Variable::real(20.0, 200.0),
            Variable::integer(10, 100),
            Variable::Categorical {
                categories: materials.len(),
            },
        ],
        vec![Goal::Minimise, Goal::Minimise],
        |x, f, g| {
            let (height, width, (_, price, stiffness)) = (x[0], x[1], materials[x[2] as usize]);
            f[0] = height * width * price * 1e-3;
            f[1] = 4e9 / (stiffness * width * height.powi(3));
            g[0] = height / width - 4.0; // not so slender that it tips over
            Ok(())
        },
    )
    .with_constraints(1);

    let outcome = Nsga2::new(Options::default().with_seed(7))?.run(&problem)?;
    let front = outcome.population.minimised_front();
    let knee = knee_point(Rows::new(&front, 2))
        .and_then(|knee| outcome.front().nth(knee))
        .ok_or("no front")?;
    println!(
        "{} solutions, the knee: {:?} costs {:?}",
        outcome.front().count(),
        knee.genome,
        knee.objectives
    );

    let root = SVGBackend::new(&path, (720, 480)).into_drawing_area();
    root.fill(&WHITE)?;
    let ends = |j: usize| {
        let values = outcome.front().map(|s| s.objectives[j]);
        let (low, high) = values.fold((f64::INFINITY, 0.0_f64), |(low, high), v| {
            (low.min(v), high.max(v))
        });
        (low * 0.8..high * 1.25).log_scale()
    };
    let mut chart = ChartBuilder::on(&root)
        .margin(15)
        .x_label_area_size(35)
        .y_label_area_size(50)
        .build_cartesian_2d(ends(0), ends(1))?;
    chart
        .configure_mesh()
        .x_desc("price")
        .y_desc("deflection")
        .draw()?;
    for (number, (_, color)) in materials.iter().zip([GREEN, BLUE, BLACK]).enumerate() {
        let of_this = outcome.front().filter(|s| s.genome[2] as usize == number);
        let dots = of_this.map(|s| Circle::new((s.objectives[0], s.objectives[1]), 3, color.filled()));
        chart.draw_series(dots)?;
    }
    let knee = (knee.objectives[0], knee.objectives[1]);
    chart.draw_series([Circle::new(knee, 7, RED.stroke_width(2))])?;
    root.present()?;
    println!("drawn in {path}");
    Ok(())
}
