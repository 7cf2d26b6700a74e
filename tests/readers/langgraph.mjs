// LangGraph's own SDK, driven line by line: a call comes in as JSON, its result or its stream goes out as JSON.
import { createInterface } from 'node:readline'
import { Client } from '@langchain/langgraph-sdk'

const { url, token } = JSON.parse(process.argv[2])
const client = new Client({ apiUrl: `${url}/langgraph`, defaultHeaders: { 'x-api-key': token }, callerOptions: { maxRetries: 0 } })
const tell = what => console.log(JSON.stringify(what))
const commands = {
  async call(part, name, ...given) {
    return { result: (await client[part][name](...given)) ?? null }
  },
  async stream(...given) {
    for await (const chunk of client.runs.stream(...given)) tell({ chunk })
    return { ended: true }
  },
}
for await (const line of createInterface({ input: process.stdin })) {
  const [name, ...given] = JSON.parse(line)
  commands[name](...given).then(
    told => tell({ did: name, ...told }),
    error => tell({ did: name, failed: { status: error.status ?? 0, text: error.text ?? String(error) } }),
  )
}
process.exit()
