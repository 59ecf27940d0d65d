import { execFile } from 'node:child_process';

export type ShellResult = { exitCode: number; stdout: string; stderr: string };

/** Runs commands in bash with these variables and the process's own. */
export function runShell(commands: string, variables: Record<string, string> = {}): Promise<ShellResult> {
  const { promise, resolve } = Promise.withResolvers<ShellResult>();
  const env = { ...process.env, http_proxy: '', ...variables };
  execFile('bash', ['-c', commands], { env }, (error, stdout, stderr) =>
    resolve({ exitCode: error ? Number(error.code) : 0, stdout, stderr }),
  );
  return promise;
}
