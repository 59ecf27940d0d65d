import type { Figure, Sample } from './samples.ts';

const COLUMNS = 3;
const PANEL = { width: 320, height: 150 };
/** The space inside a panel for its title and labels. */
const INSET = { left: 52, right: 12, top: 30, bottom: 24 };

/** Draws each figure over time as an SVG image, with a dotted line wherever the clock was moved. */
export function plot(figures: readonly Figure[], samples: readonly Sample[], movedAt: readonly number[]): string {
  const rows = Math.ceil(figures.length / COLUMNS);
  const [width, height] = [COLUMNS * PANEL.width, rows * PANEL.height];
  const panels = figures.map((figure, index) => {
    const [x, y] = [(index % COLUMNS) * PANEL.width, Math.floor(index / COLUMNS) * PANEL.height];
    return `<g transform="translate(${x} ${y})">\n${drawPanel(figure, samples, movedAt)}\n</g>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="11" fill="#333">
<title>Each figure over time</title>
<rect width="${width}" height="${height}" fill="#fff"/>
${panels.join('\n')}
</svg>
`;
}

function drawPanel({ name, unit }: Figure, samples: readonly Sample[], movedAt: readonly number[]): string {
  const points = samples
    .map(({ minute, values }) => ({ minute, value: values[name] ?? Number.NaN }))
    .filter(({ value }) => Number.isFinite(value));
  const end = samples.at(-1)?.minute ?? 1;
  const top = roundUp(Math.max(...points.map(({ value }) => value), 0) || 1);
  const x = (minute: number) => (INSET.left + (minute / end) * (PANEL.width - INSET.left - INSET.right)).toFixed(1);
  const bottom = PANEL.height - INSET.bottom;
  const y = (value: number) => (bottom - (value / top) * (bottom - INSET.top)).toFixed(1);
  const label = (value: number) => `${value.toLocaleString('en')}${unit && ` ${unit}`}`;
  const moves = movedAt.map(
    (minute) =>
      `<line x1="${x(minute)}" x2="${x(minute)}" y1="${INSET.top}" y2="${bottom}" stroke="#ccc" stroke-dasharray="2 3"/>`,
  );
  return [
    `<text x="${INSET.left}" y="20" font-weight="bold">${name}</text>`,
    ...moves,
    `<path d="M${INSET.left} ${INSET.top}V${bottom}H${PANEL.width - INSET.right}" fill="none" stroke="#888"/>`,
    `<text x="${INSET.left - 4}" y="${INSET.top + 4}" text-anchor="end">${label(top)}</text>`,
    `<text x="${INSET.left - 4}" y="${bottom + 4}" text-anchor="end">0</text>`,
    `<text x="${PANEL.width - INSET.right}" y="${PANEL.height - 8}" text-anchor="end">${Math.round(end)} min</text>`,
    `<polyline points="${points.map(({ minute, value }) => `${x(minute)},${y(value)}`).join(' ')}" fill="none" stroke="#2563eb" stroke-width="1.5"/>`,
  ].join('\n');
}

/** Rounds up to a number with a single nonzero digit. */
function roundUp(value: number): number {
  const unit = 10 ** Math.floor(Math.log10(value));
  return Math.ceil(value / unit) * unit;
}
