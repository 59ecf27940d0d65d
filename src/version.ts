import manifest from '../package.json' with { type: 'json' };

/** This service's version, from package.json. */
export const VERSION: string = manifest.version;

/** The user agent of outgoing requests. */
export const USER_AGENT = `Tollgate/${VERSION}`;
