/** The languages of code samples, in the order in which they are offered. */
export const LANGUAGES = { curl: 'curl', typescript: 'TypeScript', python: 'Python', go: 'Go' } as const;

export type Language = keyof typeof LANGUAGES;
