import type pg from 'pg';

/** What PostgreSQL says about a statement without running it. */
export type Description = { parameters: number[]; columns: pg.FieldDef[] };

/**
 * Asks PostgreSQL for the types of a statement's parameters and columns, with the protocol's Parse and Describe
 * messages. The driver has no function for this, but it accepts objects that send messages themselves, as its own
 * cursors do.
 *
 * @throws PostgreSQL's error if the statement doesn't match the schema
 */
export async function describeStatement(client: pg.Client, text: string): Promise<Description> {
  const { connection } = client;
  const description: Description = { parameters: [], columns: [] };
  const onParameters = ({ dataTypeIDs }: { dataTypeIDs: number[] }) => {
    description.parameters = dataTypeIDs;
  };
  connection.on('parameterDescription', onParameters);
  try {
    await new Promise<void>((resolve, reject) => {
      client.query({
        submit() {
          connection.parse({ name: '', text, types: [] }, false);
          connection.describe({ type: 'S', name: '' }, false);
          connection.sync();
        },
        handleRowDescription({ fields }: { fields: pg.FieldDef[] }) {
          description.columns = fields;
        },
        handleError: reject,
        handleReadyForQuery: () => resolve(),
      } as pg.Submittable);
    });
  } finally {
    connection.off('parameterDescription', onParameters);
  }
  return description;
}
