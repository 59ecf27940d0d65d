const { PATH = '', NODE_COMPILE_CACHE = '' } = process.env;

/**
 * The only variables that processes inherit from the tests' environment, so that they find programs and start quickly.
 */
export const INHERITED = { PATH, NODE_COMPILE_CACHE };
