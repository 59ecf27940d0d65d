import manifest from '../package.json' with { type: 'json' };

/** This service's version, from package.json. */
export const VERSION: string = manifest.version;

/** What outgoing requests send as their user agent. */
export const USER_AGENT = `Tollgate/${VERSION}`;
