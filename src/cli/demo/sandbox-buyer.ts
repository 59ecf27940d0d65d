import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { HOW_TO_RUN } from '../../how-to-run.ts';
import { Failure } from '../failure.ts';

export const DATA_DIR = process.env.DATA_DIR || '.data';

/** The fields of `sandbox.json` that the demo and buyers need. */
export type SandboxFile = { serverUrl: string; upstreamUrl: string | null; wallet: { privateKey: `0x${string}` } };

/** @throws Failure if the sandbox isn't running */
export async function readSandbox(): Promise<SandboxFile> {
  const path = join(DATA_DIR, 'sandbox.json');
  const file = await readFile(path, 'utf8').catch(() => {
    const advice = `Start the server first: ${HOW_TO_RUN.start}`;
    throw new Failure('unreachable', `${path} is missing, so the sandbox is not running. ${advice}`);
  });
  return JSON.parse(file) as SandboxFile;
}
