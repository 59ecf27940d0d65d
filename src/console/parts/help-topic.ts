/**
 * The part of the documentation about a page: the name of a file in docs/ (`webhooks`) or of a folder (`connectors/`), and the
 * anchor of one of its headings.
 */
export type HelpTopic = { page: string; section?: string };
