import { Alert, Anchor, Grid } from '@mantine/core';
import type { GraphQLSchema } from 'graphql';
import { useEffect, useState } from 'react';
import { useLocation, useParams } from 'wouter';
import { useApi } from '../../api/client.ts';
import { loadSchema } from '../../api/graphql-schema.ts';
import { useProject } from '../../parts/current-project.tsx';
import { Loading } from '../../parts/loading.tsx';
import { Page } from '../../parts/page.tsx';
import { useSettings } from '../../session/use-settings.ts';
import { GraphqlDocs } from './docs.tsx';
import { GraphqlRunner } from './runner.tsx';

/** The GraphQL page: an editor that runs operations against the API, next to the schema. */
export function GraphqlPage() {
  const { typeName } = useParams<{ typeName?: string }>();
  const project = useProject();
  const [, go] = useLocation();
  const api = useApi();
  const hasExplorer = useSettings()?.hasExplorer;
  const [schema, setSchema] = useState<GraphQLSchema>();
  const [failure, setFailure] = useState<Error>();
  useEffect(() => {
    loadSchema(api).then(setSchema, setFailure);
  }, [api]);
  return (
    <Page
      title="GraphQL explorer"
      lead="Run queries as the signed-in user, with this project’s ID filled in. Mutations change real data."
      actions={
        hasExplorer && (
          <Anchor href="/graphql" target="_blank">
            GraphiQL
          </Anchor>
        )
      }
    >
      <Grid gap="lg">
        <Grid.Col span={{ base: 12, md: 7 }}>
          <GraphqlRunner schema={schema} onType={(name) => go(`/projects/${project.id}/graphql/${name}`)} />
        </Grid.Col>
        <Grid.Col span={{ base: 12, md: 5 }}>
          {failure && <Alert color="red" role="alert" title={failure.message} />}
          {!schema && !failure && <Loading />}
          {schema && <GraphqlDocs schema={schema} typeName={typeName} />}
        </Grid.Col>
      </Grid>
    </Page>
  );
}
