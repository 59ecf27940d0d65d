export type Example = { name: string; query: string };

/** Example operations. The variable `projectId` is the current project. */
export const EXAMPLES: readonly Example[] = [
  {
    name: 'Your tier and limits',
    query: `query WhoAmI {
  viewer {
    tier
    limits {
      requestsPerMinute
      maxConnectors
      connectorCount
    }
  }
}
`,
  },
  {
    name: 'Failed deliveries',
    query: `query FailedDeliveries($projectId: ID!) {
  project(id: $projectId) {
    deliveries(first: 10, filter: { status: [FAILED] }) {
      nodes {
        id
        eventType
        reason
        statusCode
        explanation {
          summary
          advice
        }
      }
      pageInfo {
        hasNextPage
        endCursor
      }
    }
  }
}
`,
  },
  {
    name: 'Latest payments',
    query: `query LatestPayments($projectId: ID!) {
  project(id: $projectId) {
    payments(first: 10) {
      nodes {
        id
        status
        amountUsd
        endpointPath
        payer
        transactionHash
        createdAt
      }
    }
  }
}
`,
  },
  {
    name: 'Latest events, typed',
    query: `query LatestEvents($projectId: ID!) {
  project(id: $projectId) {
    events(first: 10) {
      nodes {
        timestamp
        payload {
          __typename
          ... on PaymentSettledData {
            amountUsd
            payer
            transactionHash
          }
          ... on PaymentFailedData {
            stage
            reason
          }
          ... on EndpointPricingChangedData {
            path
            previousPriceUsd
            priceUsd
          }
        }
      }
    }
  }
}
`,
  },
  {
    name: 'Endpoints and prices',
    query: `query Endpoints($projectId: ID!) {
  project(id: $projectId) {
    name
    walletAddress
    endpoints(first: 20, orderBy: PRICE) {
      totalCount
      nodes {
        id
        path
        priceUsd
        isActive
      }
    }
  }
}
`,
  },
  {
    name: 'Count deliveries to replay',
    query: `mutation CountFailed($projectId: ID!) {
  createReplay(input: { projectId: $projectId, filter: { status: [FAILED] }, dryRun: true }) {
    total
  }
}
`,
  },
  {
    name: 'Follow events',
    query: `subscription FollowEvents($projectId: ID!) {
  eventRecorded(projectId: $projectId) {
    cursor
    event {
      id
      type
      timestamp
      data
    }
  }
}
`,
  },
  {
    name: 'Follow deliveries',
    query: `subscription FollowDeliveries($projectId: ID!) {
  deliveryUpdated(projectId: $projectId) {
    cursor
    delivery {
      id
      eventType
      status
      statusCode
    }
  }
}
`,
  },
];
