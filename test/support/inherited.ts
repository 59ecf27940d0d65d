const { PATH = '', NODE_COMPILE_CACHE = '' } = process.env;

/** The only part of the tests' environment that a process inherits: how to find programs and start fast. */
export const INHERITED = { PATH, NODE_COMPILE_CACHE };
