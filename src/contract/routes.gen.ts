// Generated from openapi.yaml by `npm run generate`; do not edit.

import { coercedQuery } from './coerce.ts';
import { createRoute } from '@hono/zod-openapi';
import * as z from 'zod';

import { zAccount, zAuditLog, zCreateJobBody, zCreateJobHeaders, zCreateQuoteBody, zDeleteJobPath, zDeletionCertificate, zDownloadFilePath, zDownloadFileQuery, zError, zGetDeletionCertificatePath, zGetDocsFilePath, zGetJobPath, zGetJobResultPath, zHealth, zJob, zJobDeletion, zJobList, zJobResult, zJwks, zListAuditLogQuery, zListJobsQuery, zOpenApiDocument, zQuote, zStreamJobEventsPath, zUpdateAccountBody } from './zod.gen.ts';

export const listJobsRoute = createRoute({
    operationId: 'listJobs',
    method: 'get',
    path: '/v1/jobs',
    security: [{ apiKey: [] }],
    request: {
        query: coercedQuery(zListJobsQuery, { limit: 'number' })
    },
    responses: {
        200: {
            description: 'listJobs 200',
            content: { 'application/json': { schema: zJobList } }
        },
        400: {
            description: 'listJobs 400',
            content: { 'application/json': { schema: zError } }
        },
        401: {
            description: 'listJobs 401',
            content: { 'application/json': { schema: zError } }
        },
        403: {
            description: 'listJobs 403',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'listJobs 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'listJobs 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'listJobs 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const createJobRoute = createRoute({
    operationId: 'createJob',
    method: 'post',
    path: '/v1/jobs',
    security: [{ apiKey: [] }],
    request: {
        headers: zCreateJobHeaders,
        body: {
            content: { 'application/json': { schema: zCreateJobBody } },
            required: true
        }
    },
    responses: {
        201: {
            description: 'createJob 201',
            content: { 'application/json': { schema: zJob } }
        },
        400: {
            description: 'createJob 400',
            content: { 'application/json': { schema: zError } }
        },
        401: {
            description: 'createJob 401',
            content: { 'application/json': { schema: zError } }
        },
        402: {
            description: 'createJob 402',
            content: { 'application/json': { schema: zError } }
        },
        403: {
            description: 'createJob 403',
            content: { 'application/json': { schema: zError } }
        },
        409: {
            description: 'createJob 409',
            content: { 'application/json': { schema: zError } }
        },
        413: {
            description: 'createJob 413',
            content: { 'application/json': { schema: zError } }
        },
        415: {
            description: 'createJob 415',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'createJob 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'createJob 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'createJob 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const createQuoteRoute = createRoute({
    operationId: 'createQuote',
    method: 'post',
    path: '/v1/quotes',
    security: [{ apiKey: [] }],
    request: {
        body: {
            content: { 'application/json': { schema: zCreateQuoteBody } },
            required: true
        }
    },
    responses: {
        200: {
            description: 'createQuote 200',
            content: { 'application/json': { schema: zQuote } }
        },
        400: {
            description: 'createQuote 400',
            content: { 'application/json': { schema: zError } }
        },
        401: {
            description: 'createQuote 401',
            content: { 'application/json': { schema: zError } }
        },
        403: {
            description: 'createQuote 403',
            content: { 'application/json': { schema: zError } }
        },
        413: {
            description: 'createQuote 413',
            content: { 'application/json': { schema: zError } }
        },
        415: {
            description: 'createQuote 415',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'createQuote 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'createQuote 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'createQuote 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const deleteJobRoute = createRoute({
    operationId: 'deleteJob',
    method: 'delete',
    path: '/v1/jobs/{id}',
    security: [{ apiKey: [] }],
    request: {
        params: zDeleteJobPath
    },
    responses: {
        200: {
            description: 'deleteJob 200',
            content: { 'application/json': { schema: zJobDeletion } }
        },
        401: {
            description: 'deleteJob 401',
            content: { 'application/json': { schema: zError } }
        },
        403: {
            description: 'deleteJob 403',
            content: { 'application/json': { schema: zError } }
        },
        404: {
            description: 'deleteJob 404',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'deleteJob 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'deleteJob 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'deleteJob 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const getJobRoute = createRoute({
    operationId: 'getJob',
    method: 'get',
    path: '/v1/jobs/{id}',
    security: [{ apiKey: [] }],
    request: {
        params: zGetJobPath
    },
    responses: {
        200: {
            description: 'getJob 200',
            content: { 'application/json': { schema: zJob } }
        },
        401: {
            description: 'getJob 401',
            content: { 'application/json': { schema: zError } }
        },
        403: {
            description: 'getJob 403',
            content: { 'application/json': { schema: zError } }
        },
        404: {
            description: 'getJob 404',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'getJob 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'getJob 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'getJob 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const getJobResultRoute = createRoute({
    operationId: 'getJobResult',
    method: 'get',
    path: '/v1/jobs/{id}/result',
    security: [{ apiKey: [] }],
    request: {
        params: zGetJobResultPath
    },
    responses: {
        200: {
            description: 'getJobResult 200',
            content: { 'application/json': { schema: zJobResult } }
        },
        401: {
            description: 'getJobResult 401',
            content: { 'application/json': { schema: zError } }
        },
        403: {
            description: 'getJobResult 403',
            content: { 'application/json': { schema: zError } }
        },
        404: {
            description: 'getJobResult 404',
            content: { 'application/json': { schema: zError } }
        },
        409: {
            description: 'getJobResult 409',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'getJobResult 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'getJobResult 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'getJobResult 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const streamJobEventsRoute = createRoute({
    operationId: 'streamJobEvents',
    method: 'get',
    path: '/v1/jobs/{id}/events',
    security: [{ apiKey: [] }],
    request: {
        params: zStreamJobEventsPath
    },
    responses: {
        200: {
            description: 'streamJobEvents 200',
            content: { 'text/event-stream': { schema: z.unknown() } }
        },
        401: {
            description: 'streamJobEvents 401',
            content: { 'application/json': { schema: zError } }
        },
        403: {
            description: 'streamJobEvents 403',
            content: { 'application/json': { schema: zError } }
        },
        404: {
            description: 'streamJobEvents 404',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'streamJobEvents 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'streamJobEvents 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'streamJobEvents 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const getDeletionCertificateRoute = createRoute({
    operationId: 'getDeletionCertificate',
    method: 'get',
    path: '/v1/jobs/{id}/deletion-certificate',
    security: [{ apiKey: [] }],
    request: {
        params: zGetDeletionCertificatePath
    },
    responses: {
        200: {
            description: 'getDeletionCertificate 200',
            content: { 'application/json': { schema: zDeletionCertificate } }
        },
        401: {
            description: 'getDeletionCertificate 401',
            content: { 'application/json': { schema: zError } }
        },
        403: {
            description: 'getDeletionCertificate 403',
            content: { 'application/json': { schema: zError } }
        },
        404: {
            description: 'getDeletionCertificate 404',
            content: { 'application/json': { schema: zError } }
        },
        409: {
            description: 'getDeletionCertificate 409',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'getDeletionCertificate 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'getDeletionCertificate 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'getDeletionCertificate 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const getAccountRoute = createRoute({
    operationId: 'getAccount',
    method: 'get',
    path: '/v1/account',
    security: [{ apiKey: [] }],
    responses: {
        200: {
            description: 'getAccount 200',
            content: { 'application/json': { schema: zAccount } }
        },
        401: {
            description: 'getAccount 401',
            content: { 'application/json': { schema: zError } }
        },
        403: {
            description: 'getAccount 403',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'getAccount 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'getAccount 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'getAccount 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const updateAccountRoute = createRoute({
    operationId: 'updateAccount',
    method: 'patch',
    path: '/v1/account',
    security: [{ apiKey: [] }],
    request: {
        body: {
            content: { 'application/json': { schema: zUpdateAccountBody } },
            required: true
        }
    },
    responses: {
        200: {
            description: 'updateAccount 200',
            content: { 'application/json': { schema: zAccount } }
        },
        400: {
            description: 'updateAccount 400',
            content: { 'application/json': { schema: zError } }
        },
        401: {
            description: 'updateAccount 401',
            content: { 'application/json': { schema: zError } }
        },
        403: {
            description: 'updateAccount 403',
            content: { 'application/json': { schema: zError } }
        },
        413: {
            description: 'updateAccount 413',
            content: { 'application/json': { schema: zError } }
        },
        415: {
            description: 'updateAccount 415',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'updateAccount 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'updateAccount 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'updateAccount 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const listAuditLogRoute = createRoute({
    operationId: 'listAuditLog',
    method: 'get',
    path: '/v1/audit-log',
    security: [{ apiKey: [] }],
    request: {
        query: coercedQuery(zListAuditLogQuery, { limit: 'number', starting_after: 'number' })
    },
    responses: {
        200: {
            description: 'listAuditLog 200',
            content: { 'application/json': { schema: zAuditLog } }
        },
        400: {
            description: 'listAuditLog 400',
            content: { 'application/json': { schema: zError } }
        },
        401: {
            description: 'listAuditLog 401',
            content: { 'application/json': { schema: zError } }
        },
        403: {
            description: 'listAuditLog 403',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'listAuditLog 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'listAuditLog 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'listAuditLog 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const getJwksRoute = createRoute({
    operationId: 'getJwks',
    method: 'get',
    path: '/.well-known/jwks.json',
    security: [],
    responses: {
        200: {
            description: 'getJwks 200',
            content: { 'application/json': { schema: zJwks } }
        },
        500: {
            description: 'getJwks 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'getJwks 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const getOpenApiJsonRoute = createRoute({
    operationId: 'getOpenApiJson',
    method: 'get',
    path: '/v1/openapi.json',
    security: [],
    responses: {
        200: {
            description: 'getOpenApiJson 200',
            content: { 'application/json': { schema: zOpenApiDocument } }
        },
        500: {
            description: 'getOpenApiJson 500',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const getOpenApiYamlRoute = createRoute({
    operationId: 'getOpenApiYaml',
    method: 'get',
    path: '/v1/openapi.yaml',
    security: [],
    responses: {
        200: {
            description: 'getOpenApiYaml 200',
            content: { 'application/yaml': { schema: z.unknown() } }
        },
        500: {
            description: 'getOpenApiYaml 500',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const getDocsRoute = createRoute({
    operationId: 'getDocs',
    method: 'get',
    path: '/docs',
    security: [],
    responses: {
        200: {
            description: 'getDocs 200',
            content: { 'text/html': { schema: z.unknown() } }
        },
        500: {
            description: 'getDocs 500',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const getDocsFileRoute = createRoute({
    operationId: 'getDocsFile',
    method: 'get',
    path: '/docs/{file}',
    security: [],
    request: {
        params: zGetDocsFilePath
    },
    responses: {
        200: {
            description: 'getDocsFile 200',
            content: { 'text/css': { schema: z.unknown() } }
        },
        404: {
            description: 'getDocsFile 404',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'getDocsFile 500',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const downloadFileRoute = createRoute({
    operationId: 'downloadFile',
    method: 'get',
    path: '/v1/downloads/:key{.+}',
    security: [],
    request: {
        params: zDownloadFilePath,
        query: coercedQuery(zDownloadFileQuery, {})
    },
    responses: {
        200: {
            description: 'downloadFile 200',
            content: { 'video/mp4': { schema: z.unknown() } }
        },
        206: {
            description: 'downloadFile 206',
            content: { 'video/mp4': { schema: z.unknown() } }
        },
        403: {
            description: 'downloadFile 403',
            content: { 'application/json': { schema: zError } }
        },
        404: {
            description: 'downloadFile 404',
            content: { 'application/json': { schema: zError } }
        },
        416: {
            description: 'downloadFile 416',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'downloadFile 500',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const getHealthRoute = createRoute({
    operationId: 'getHealth',
    method: 'get',
    path: '/healthz',
    security: [],
    responses: {
        200: {
            description: 'getHealth 200',
            content: { 'application/json': { schema: zHealth } }
        },
        500: {
            description: 'getHealth 500',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const getReadinessRoute = createRoute({
    operationId: 'getReadiness',
    method: 'get',
    path: '/readyz',
    security: [],
    responses: {
        200: {
            description: 'getReadiness 200',
            content: { 'application/json': { schema: zHealth } }
        },
        500: {
            description: 'getReadiness 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'getReadiness 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const routes = {
    listJobs: listJobsRoute,
    createJob: createJobRoute,
    createQuote: createQuoteRoute,
    deleteJob: deleteJobRoute,
    getJob: getJobRoute,
    getJobResult: getJobResultRoute,
    streamJobEvents: streamJobEventsRoute,
    getDeletionCertificate: getDeletionCertificateRoute,
    getAccount: getAccountRoute,
    updateAccount: updateAccountRoute,
    listAuditLog: listAuditLogRoute,
    getJwks: getJwksRoute,
    getOpenApiJson: getOpenApiJsonRoute,
    getOpenApiYaml: getOpenApiYamlRoute,
    getDocs: getDocsRoute,
    getDocsFile: getDocsFileRoute,
    downloadFile: downloadFileRoute,
    getHealth: getHealthRoute,
    getReadiness: getReadinessRoute
};
