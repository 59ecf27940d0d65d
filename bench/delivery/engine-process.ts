/** A process that runs one engine. */
import { setTimeout as sleep } from 'node:timers/promises';
import { now, serve } from '../support/child.ts';
import type { Claim, Engine, EngineName, EngineOptions } from './engine.ts';

export type EngineMethods = typeof methods;

export type Published = { id: string; scheduledAt: number; committedAt: number };
export type Usage = { cpuMicroseconds: number; statements: number; maxRssMegabytes: number };

// The peers aren't dependencies of the project, so the project's code can't import them by name.
const FILES: Record<EngineName, string> = {
  tollgate: './engines/tollgate.ts',
  'graphile-worker': '../peers/graphile-worker.mjs',
  'pg-boss': '../peers/pg-boss.mjs',
  bullmq: '../peers/bullmq.mjs',
};

let engine: Engine;

const methods = {
  async open(name: EngineName, options: EngineOptions): Promise<void> {
    const { createEngine } = (await import(FILES[name])) as { createEngine(options: EngineOptions): Promise<Engine> };
    engine = await createEngine(options);
  },
  prepare: () => engine.prepare(),
  load: (count: number, urls: readonly string[], dueInSeconds = 0) => engine.load(count, urls, dueInSeconds),
  start: () => engine.start(),
  recorded: () => engine.recorded(),
  claims: (): readonly Claim[] => engine.claims?.() ?? [],
  stop: () => engine.stop(),
  /**
   * Publishes at a steady rate, no matter what happens to earlier events. Each event keeps its scheduled time, even if
   * it is published late.
   */
  async publish(perSecond: number, seconds: number): Promise<Published[]> {
    const startAt = now() + 100;
    const publishing = Array.from({ length: perSecond * seconds }, async (_, index) => {
      const scheduledAt = startAt + (index * 1000) / perSecond;
      await sleep(scheduledAt - now());
      const id = await engine.publish();
      return { id, scheduledAt, committedAt: now() };
    });
    return Promise.all(publishing);
  },
  usage(): Usage {
    const { user, system } = process.cpuUsage();
    const maxRssMegabytes = process.resourceUsage().maxRSS / 1024;
    return { cpuMicroseconds: user + system, statements: engine.statements(), maxRssMegabytes };
  },
};

serve(methods);
