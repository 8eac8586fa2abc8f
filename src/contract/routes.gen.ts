// Generated from openapi.yaml by `npm run generate`; do not edit.

import { coercedQuery } from './coerce.ts';
import { createRoute } from '@hono/zod-openapi';
import * as z from 'zod';

import { zAccount, zCreateJobBody, zCreateJobHeaders, zDeleteJobPath, zDownloadFilePath, zDownloadFileQuery, zError, zGetJobPath, zGetJobResultPath, zHealth, zJob, zJobDeletion, zJobList, zJobResult, zListJobsQuery, zOpenApiDocument } from './zod.gen.ts';

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
    deleteJob: deleteJobRoute,
    getJob: getJobRoute,
    getJobResult: getJobResultRoute,
    getAccount: getAccountRoute,
    getOpenApiJson: getOpenApiJsonRoute,
    getOpenApiYaml: getOpenApiYamlRoute,
    downloadFile: downloadFileRoute,
    getHealth: getHealthRoute,
    getReadiness: getReadinessRoute
};
