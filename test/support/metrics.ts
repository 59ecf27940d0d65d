export type Metric = {
  type: string;
  help: string;
  /** One sample for each line, with its labels. */
  samples: { name: string; labels: Record<string, string>; value: number }[];
};

/** Reads the metrics of a process, by name. */
export async function readMetrics(url: string): Promise<Map<string, Metric>> {
  const response = await fetch(`${url}/metrics`);
  return parseMetrics(await response.text());
}

/** Returns the sum of all samples that have these labels, or 0 if no sample has them. */
export function metricValue(metrics: Map<string, Metric>, name: string, labels: Record<string, string> = {}): number {
  const metric = metrics.get(name.replace(/_(bucket|sum|count)$/, '')) ?? metrics.get(name);
  const wanted = (metric?.samples ?? []).filter(
    (sample) =>
      sample.name === name && Object.entries(labels).every(([label, value]) => sample.labels[label] === value),
  );
  return wanted.reduce((sum, { value }) => sum + value, 0);
}

// https://prometheus.io/docs/instrumenting/exposition_formats/#text-format-details
function parseMetrics(text: string): Map<string, Metric> {
  const metrics = new Map<string, Metric>();
  let current: Metric | undefined;
  for (const line of text.split('\n').filter(Boolean)) {
    const [, help, helped] = /^# HELP (\S+) (.*)$/.exec(line) ?? [];
    if (help) {
      current = { type: '', help: helped!, samples: [] };
      metrics.set(help, current);
      continue;
    }
    const [, type] = /^# TYPE \S+ (\S+)$/.exec(line) ?? [];
    if (type) {
      current!.type = type;
      continue;
    }
    const [, name, labels = '', value] = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line)!;
    const pairs = Array.from(labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g), ([, label, text]) => [label!, text!]);
    current!.samples.push({ name: name!, labels: Object.fromEntries(pairs), value: Number(value) });
  }
  return metrics;
}
