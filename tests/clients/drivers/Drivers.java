import java.sql.DriverManager;
import java.sql.ResultSet;

/** Searches by JDBC, with rows at once and bit by bit; prints what each found. The place is in PG*. */
class Drivers {
    public static void main(String[] arguments) throws Exception {
        var of = System.getenv();
        var url = "jdbc:postgresql://" + of.get("PGHOST") + ":" + of.get("PGPORT") + "/" + of.get("PGDATABASE");
        try (var connection = DriverManager.getConnection(url, of.get("PGUSER"), of.get("PGPASSWORD"))) {
            for (var size : new int[] {0, 2}) {
                connection.setAutoCommit(size == 0);
                var search = connection.prepareStatement(
                    "SELECT source_key, score FROM blend.lexical_search(?, 5)");
                search.setFetchSize(size);
                for (var turn = 0; turn < 7; turn++) {
                    search.setString(1, "undo a release");
                    show(search.executeQuery());
                }
                var many = connection.prepareStatement(
                    "SELECT g, h.source_key FROM generate_series(1, 5) AS g,"
                    + " LATERAL blend.lexical_search('deploy ' || g, 3) AS h");
                many.setFetchSize(size);
                var found = many.executeQuery();
                found.next();
                show(connection.createStatement().executeQuery(
                    "SELECT 1, count(*) FROM blend.lexical_search('deploy 3', 3)"));
                show(found);
            }
            connection.commit();
        }
    }

    static void show(ResultSet found) throws Exception {
        while (found.next()) {
            System.out.println(found.getString(1) + " " + found.getString(2));
        }
    }
}
