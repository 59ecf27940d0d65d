import { once } from 'node:events';
import { Readable } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { watchReadingPace } from '../../../src/gateway/upstream/reading-pace.ts';

/** A stream whose reader pauses after each part, and a clock for the pauses. */
function openStream() {
  let time = 0;
  const stream = new Readable({ read() {} });
  const pace = watchReadingPace(stream, () => time);
  stream.resume();
  const pauseFor = async (milliseconds: number) => {
    stream.pause();
    time += milliseconds;
    stream.resume();
    await once(stream, 'resume');
  };
  const pass = (milliseconds: number) => {
    time += milliseconds;
  };
  return { stream, pace, pauseFor, pass };
}

describe('a reader', () => {
  test('is slow after a single long pause, even if it has read fast before and does so afterward', async () => {
    const { pace, pauseFor } = openStream();
    pace.add(100_000_000);
    await pauseFor(2_900);
    expect(pace.isSlow()).toBe(false);
    pace.add(100_000_000);
    await pauseFor(3_100);
    pace.add(100_000_000);
    expect(pace.isSlow()).toBe(true);
  });

  test('is slow during a long pause', () => {
    const { stream, pace, pass } = openStream();
    stream.pause();
    pass(2_900);
    expect(pace.isSlow()).toBe(false);
    pass(200);
    expect(pace.isSlow()).toBe(true);
  });

  test.each([
    { kilobytesPerSecond: 16, isSlow: true },
    { kilobytesPerSecond: 64, isSlow: false },
  ])('that reads $kilobytesPerSecond KB per second in short pauses: slow is $isSlow', async (reader) => {
    const { pace, pauseFor } = openStream();
    for (let second = 0; second < 60; second++) {
      await pauseFor(1_000);
      pace.add(reader.kilobytesPerSecond * 1_024);
    }
    expect(pace.isSlow()).toBe(reader.isSlow);
  });

  test('is never slow while the upstream has nothing to send', () => {
    const { pace, pass } = openStream();
    pass(600_000);
    expect(pace.isSlow()).toBe(false);
  });
});
