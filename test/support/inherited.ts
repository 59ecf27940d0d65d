const { PATH = '', NODE_COMPILE_CACHE = '' } = process.env;

/** What a process inherits from the tests' environment, which isn't meant for it: how to find programs and start fast. */
export const INHERITED = { PATH, NODE_COMPILE_CACHE };
