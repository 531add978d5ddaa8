// Searches by node-postgres; prints what each found. The place is in PG*.
const { Client } = require("pg");

const search = "SELECT source_key, score FROM blend.lexical_search($1, 5)";

async function main() {
  const client = new Client();
  await client.connect();
  const ask = async (query) => console.log(JSON.stringify((await client.query(query)).rows));
  const values = ["undo a release"];
  for (let turn = 0; turn < 3; turn++) {
    await ask({ text: search, values });
    await ask({ text: search, values, name: "search" });
  }
  await client.query("BEGIN");
  await ask({ text: search, values });
  await ask("SELECT count(*) FROM generate_series(1, 5) AS g, LATERAL blend.lexical_search('a ' || g)");
  await client.query("COMMIT");
  await client.end();
}

main();
