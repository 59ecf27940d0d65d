import { spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestApp, type TestApp } from '../support/app.ts';
import { type Metric, readMetrics } from '../support/metrics.ts';
import { listPages, ROOT, readPage } from './pages.ts';

const FOLDER = 'docs/observability';
const ALERTS = `${FOLDER}/alerts.yml`;
const CASES = 'test/docs/alerts-cases.yml';
const DASHBOARD = `${FOLDER}/grafana-dashboard.json`;
const hasPromtool = spawnSync('promtool', ['--version']).status === 0;
if (!hasPromtool)
  console.warn('Skipped: the syntax and the cases of the alert rules, because promtool (prometheus) is not installed.');

const page = await readPage(`${FOLDER}/README.md`);
const alerts = await readPage(ALERTS);
const dashboard = JSON.parse(await readPage(DASHBOARD)) as {
  panels: { id: number; title: string; targets?: { expr: string }[] }[];
};
const expressions = dashboard.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));

/** The rows in the metrics tables, by name. */
const documented = new Map(
  Array.from(
    page.matchAll(/^\| `(tollgate_\w+)` \| (\w+) \| (.*?) ?\| (.*) \|$/gm),
    ([, name, type, labels, meaning]) => [
      name!,
      { type, labels: Array.from(labels!.matchAll(/`(\w+)`/g), ([, label]) => label!), meaning },
    ],
  ),
);

let app: TestApp;
let metrics: Map<string, Metric>;

beforeAll(async () => {
  app = await startTestApp();
  metrics = await readMetrics(app.url);
});
afterAll(() => app?.stop());

/** Returns the names of the metrics that `text` mentions, including histogram series. */
function named(text: string): string[] {
  const names = Array.from(text.matchAll(/\b(?:tollgate|nodejs|process)_[a-z0-9_]+\b(?!\*)/g), ([name]) => name);
  return [...new Set(names.filter((name) => !name.endsWith('_')))];
}

const isThere = (name: string) =>
  metrics.has(name) || metrics.get(name.replace(/_(bucket|sum|count)$/, ''))?.type === 'histogram';

test('every metric is documented with its type, labels, and description', () => {
  const ours = [...metrics].filter(([name]) => !/^(process|nodejs)_/.test(name));
  expect(ours.length).toBeGreaterThan(20);
  expect([...documented.keys()].sort()).toEqual(ours.map(([name]) => name).sort());
  for (const [name, { type, help, samples }] of ours) {
    expect(documented.get(name), name).toMatchObject({ type, meaning: help });
    const labels = new Set(samples.flatMap((sample) => Object.keys(sample.labels)).filter((label) => label !== 'le'));
    for (const label of labels) expect(documented.get(name)!.labels, name).toContain(label);
  }
});

test('metrics in pages, alert rules, and the dashboard exist', async () => {
  const pages = await Promise.all((await listPages()).filter((path) => path.startsWith('docs/')).map(readPage));
  for (const text of [...pages, alerts, ...expressions])
    for (const name of named(text)) expect(isThere(name), `${name} in ${text.slice(0, 200)}`).toBe(true);
});

test('alert rules and the dashboard use existing labels', () => {
  let selectors = 0;
  for (const text of [alerts, ...expressions]) {
    for (const [, series, matchers] of text.matchAll(/\b(tollgate_\w+)\{([^}]*)\}/g)) {
      const name = documented.has(series!) ? series! : series!.replace(/_(bucket|sum|count)$/, '');
      for (const [, label] of matchers!.matchAll(/(\w+)(?:=~|!~|!=|=)"/g)) {
        selectors += 1;
        expect([...documented.get(name)!.labels, 'job', 'instance'], text).toContain(label);
      }
    }
  }
  expect(selectors).toBeGreaterThan(20);
});

test('every Tollgate metric is on the dashboard', () => {
  const shown = new Set(expressions.flatMap(named).map((name) => name.replace(/_(bucket|sum|count)$/, '')));
  expect([...documented.keys()].filter((name) => !shown.has(name))).toEqual([]);
});

test('every alert has a runbook entry, and every entry has an alert', () => {
  const rules = Array.from(alerts.matchAll(/- alert: (\w+)/g), ([, name]) => name!);
  const table = page.slice(page.indexOf('## Alerts'));
  expect(Array.from(table.matchAll(/`(Tollgate\w+)`/g), ([, name]) => name!)).toEqual(expect.arrayContaining(rules));
  expect(rules).toEqual(expect.arrayContaining(Array.from(table.matchAll(/`(Tollgate\w+)`/g), ([, name]) => name!)));
});

describe.skipIf(!hasPromtool)('Prometheus', () => {
  test('accepts the alert rules', () => {
    const { status, stdout, stderr } = spawnSync('promtool', ['check', 'rules', join(ROOT, ALERTS)], {
      encoding: 'utf8',
    });
    expect(status, stdout + stderr).toBe(0);
  });

  test('raises the alerts when it should, and not otherwise', () => {
    const { status, stdout, stderr } = spawnSync('promtool', ['test', 'rules', join(ROOT, CASES)], {
      encoding: 'utf8',
    });
    expect(status, stdout + stderr).toBe(0);
  });

  test("accepts the dashboard's expressions", async () => {
    const rules = expressions.map((expr, index) => ({
      record: `panel:${index}`,
      expr: expr.replaceAll('$__rate_interval', '5m'),
    }));
    const folder = await mkdtemp(join(tmpdir(), 'tollgate-rules-'));
    const file = join(folder, 'dashboard.json');
    await writeFile(file, JSON.stringify({ groups: [{ name: 'dashboard', rules }] }));
    const { status, stdout, stderr } = spawnSync('promtool', ['check', 'rules', file], { encoding: 'utf8' });
    await rm(folder, { recursive: true });
    expect(status, stdout + stderr).toBe(0);
  });

  test("accepts a process's metrics", async () => {
    const response = await (await fetch(`${app.url}/metrics`)).text();
    const { stdout, stderr, error } = spawnSync('promtool', ['check', 'metrics'], {
      input: response,
      encoding: 'utf8',
    });
    expect(error).toBeUndefined();
    expect(stdout + stderr).not.toContain('error while linting');
  });
});
