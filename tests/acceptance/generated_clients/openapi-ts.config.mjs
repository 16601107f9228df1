// Extensions in imports: Node runs the TypeScript as it is.
export default {
  input: process.env.OPENAPI,
  output: { path: process.env.OUTPUT, module: { extension: ".ts" } },
};
