export type Table = { columns: string[]; rows: string[][] };

/** A Markdown table with aligned columns. */
export function print({ columns, rows }: Table): string {
  const widths = columns.map((column, index) => Math.max(column.length, ...rows.map((row) => row[index]!.length)));
  const line = (cells: string[]) => `| ${cells.map((cell, index) => cell.padEnd(widths[index]!)).join(' | ')} |`;
  return [line(columns), `|${widths.map((width) => '-'.repeat(width + 2)).join('|')}|`, ...rows.map(line)].join('\n');
}

export const rate = (perSecond: number): string => Math.round(perSecond).toLocaleString('en');
export const ratio = (value: number): string => value.toFixed(2);
export const microseconds = (value: number): string => `${value.toFixed(0)} µs`;
export const milliseconds = (value: number): string => `${value.toFixed(1)} ms`;
