import { type ChildProcess, fork } from 'node:child_process';
import { basename } from 'node:path';
import { onCore } from './processes.ts';

type Methods = Record<string, (...args: never[]) => unknown>;
type Call = { id: number; method: string; args: unknown[] };
type Reply = { id: number; result?: unknown; error?: string };

/** A child process with methods that are called over IPC. */
export type Child<M extends Methods> = {
  call<K extends keyof M & string>(method: K, ...args: Parameters<M[K]>): Promise<Awaited<ReturnType<M[K]>>>;
  end(): Promise<void>;
};

/**
 * Starts a program as a child process. The program handles calls with `serve`.
 *
 * @param core the only core that the program may use. By default, it may use this process's cores.
 */
export function startChild<M extends Methods>(program: URL, env: Record<string, string> = {}, core?: number): Child<M> {
  const flags = env.CPU_PROFILE ? ['--cpu-prof', `--cpu-prof-dir=${env.CPU_PROFILE}`] : [];
  const [execPath, execArgv] = onCore(core, process.execPath, flags);
  const child: ChildProcess = fork(program, [], {
    serialization: 'advanced',
    // The child writes its log as usual, but the output is discarded.
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    // GraphQL, Express, and Apollo are faster in production.
    env: { ...process.env, NODE_ENV: 'production', ...env },
    execPath,
    execArgv,
  });
  const waiting = new Map<number, PromiseWithResolvers<unknown>>();
  let lastId = 0;
  child.on('message', ({ id, result, error }: Reply) => {
    const call = waiting.get(id);
    waiting.delete(id);
    if (error === undefined) call?.resolve(result);
    else call?.reject(new Error(`${nameOf(program)}: ${error}`));
  });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  ended.then(() => {
    for (const { reject } of waiting.values()) reject(new Error(`${nameOf(program)} has ended`));
  });
  return {
    call(method, ...args) {
      const call = Promise.withResolvers<unknown>();
      waiting.set(++lastId, call);
      child.send({ id: lastId, method, args } satisfies Call);
      return call.promise as ReturnType<Child<M>['call']>;
    },
    async end() {
      if (child.connected) child.disconnect();
      const timer = setTimeout(() => child.kill('SIGKILL'), 10_000);
      await ended;
      clearTimeout(timer);
    },
  };
}

const nameOf = ({ pathname }: URL) => basename(pathname);

/** The child's side: handles the parent's calls, and exits when the parent does. */
export function serve(methods: Methods): void {
  process.on('message', async ({ id, method, args }: Call) => {
    try {
      process.send!({ id, result: await methods[method]!(...(args as never[])) } satisfies Reply);
    } catch (error) {
      process.send!({ id, error: (error as Error).stack ?? String(error) } satisfies Reply);
    }
  });
  process.on('disconnect', () => process.exit(0));
}

/** Returns milliseconds on a clock that all processes on the machine share. */
export const now = (): number => Number(process.hrtime.bigint()) / 1e6;
